"""Loading runs no code from a file: what a file may name is a short list."""

import os
import sys

import numpy as np
import pytest
import skops.io  # noqa: F401  what files may name of scikit-learn, skops has imported
from sklearn.datasets import load_wine
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from fuselearn import CARTClassifier, KFHEClassifier
from fuselearn.io import ModelFileError, load, save
from fuselearn.io.trust import is_trusted, refuse_untrusted

X, y = load_wine(return_X_y=True)


def test_what_a_model_is_made_of_is_trusted():
    for name in [
        "fuselearn.ensembles.kfhe.KFHEClassifier",
        "fuselearn.learners.table.TableCoder",
        "fuselearn.multilabel.decisions.sets.KnownSets",
        "fuselearn.fusion.problem.WeightedSum",
        "sklearn.pipeline.Pipeline",
        "sklearn.calibration._SigmoidCalibration",
        "sklearn.gaussian_process.kernels.RBF",
        "sklearn.feature_selection._univariate_selection.chi2",
        "scipy.sparse._csr.csr_matrix",
        "numpy.dtype",
    ]:
        assert is_trusted(name)


def test_what_could_do_something_is_not():
    for name in [
        "os.system",
        "posix.system",
        "subprocess.Popen",
        "builtins.eval",
        "builtins.getattr",
        "functools.partial",
        "operator.methodcaller",
        "numpy.load",
        "numpy.memmap",
        "numpy.f2py.compile",
        "numpy.f2py.__main__.main",
        "numpy.testing._private.utils.runstring",
        "scipy.io.loadmat",
        "scipy._lib._testutils.PytestTester",
        "sklearn.datasets._openml.fetch_openml",
        "sklearn.datasets._base.load_files",
        "sklearn.utils._testing.assert_run_python_script_without_output",
        "sklearn.externals._arff.load",
        "sklearn.metrics._classification.np",
        "joblib.memory.Memory",
        "pandas.io.pickle.read_pickle",
        "fuselearn.cli.main.app",
        "fuselearn.lab.running.store.ResultsStore",
        "fuselearn.datasets.registry.fetch",
        "fuselearn._core.Forest",
        "fuselearn.io.files.load",
        "fuselearn.ensembles.kfhe.np",
        "fuselearn.ensembles.kfhe.closed_form_coefficients",
        "fuselearn.ensembles.kfhe.BaseEstimator",
        "fuselearn.ensembles.kfhe.KFHEClassifier.fit",
        "fuselearn.ensembles.nowhere.Thing",
        "KFHEClassifier",
        "",
    ]:
        assert not is_trusted(name)


def name_type(module, own_name, loader):
    """Make the description of a model that names a type or function where a parameter was."""

    def describe(schema):
        nothing = {"__class__": "str", "__module__": "builtins", "__loader__": "JsonNode", "content": "{}", "__id__": 2}
        named = {"__class__": own_name, "__module__": module, "__loader__": loader, "content": nothing, "__id__": 1}
        schema["content"]["others"]["content"].append(named)

    return describe


class TestForgedFiles:
    @pytest.mark.parametrize(
        ("module", "own_name", "loader"),
        [
            ("os", "system", "FunctionNode"),
            ("builtins", "eval", "TypeNode"),
            ("subprocess", "Popen", "ObjectNode"),
            ("pandas", "DataFrame", "ObjectNode"),
            ("numpy", "memmap", "TypeNode"),
        ],
    )
    def test_the_type_is_named(self, module, own_name, loader, tmp_path, forge_model):
        path = tmp_path / "model.fuse"
        save(CARTClassifier(), path)
        forge_model(path, describe=name_type(module, own_name, loader))
        with pytest.raises(
            ModelFileError, match=rf"It contains {module}\.{own_name}, and a model file may contain only"
        ):
            load(path)

    @pytest.mark.parametrize("loader", ["FunctionNode", "TypeNode", "ObjectNode", "ConstructorFromReduceNode"])
    def test_a_module_is_not_even_imported(self, loader, tmp_path, forge_model, monkeypatch):
        (tmp_path / "evil_module.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\nclass Thing: pass\n")
        monkeypatch.syspath_prepend(tmp_path)
        path = tmp_path / "model.fuse"
        save(CARTClassifier(), path)
        forge_model(path, describe=name_type("evil_module", "Thing", loader))
        with pytest.raises(ModelFileError):
            load(path)
        assert "evil_module" not in sys.modules
        assert not os.path.exists(tmp_path / "ran")

    def test_an_unknown_way_of_loading(self, tmp_path, forge_model):
        path = tmp_path / "model.fuse"
        save(CARTClassifier(), path)
        forge_model(path, describe=name_type("sklearn.pipeline", "Pipeline", "PickleNode"))
        with pytest.raises(ModelFileError, match="PickleNode"):
            load(path)


def test_ufuncs_are_arithmetic(tmp_path):
    path = tmp_path / "model.fuse"
    model = make_pipeline(FunctionTransformer(np.log1p), KFHEClassifier(n_estimators=3, random_state=0)).fit(X, y)
    save(model, path)
    assert load(path)[0].func is np.log1p


@pytest.mark.parametrize("function", [np.load, os.system, print])
def test_other_functions_are_refused_by_name(function, tmp_path):
    with pytest.raises(ModelFileError, match=function.__name__):
        save(FunctionTransformer(function), tmp_path / "model.fuse")


def test_what_the_user_has_put_there_is_named_first():
    with pytest.raises(ModelFileError, match=r"It contains boosters\.Booster, and"):
        refuse_untrusted(["collections.OrderedDict", "boosters.Booster", "types.SimpleNamespace"])
    with pytest.raises(ModelFileError, match=r"It contains collections\.OrderedDict, and"):
        refuse_untrusted(["sklearn.tree._tree.Tree", "collections.OrderedDict"])
