import pytest

from fuselearn.datasets.registry import registry

ENTRIES = list(registry().values())


def test_the_papers_have_20_and_10_datasets():
    papers = [info.paper for info in ENTRIES]
    assert papers.count("kfhe") == 20
    assert papers.count("kfhe-homer") == 10


@pytest.mark.parametrize("info", ENTRIES, ids=lambda info: info.name)
def test_every_entry_is_complete(info):
    assert min(info.rows, info.features, info.classes) > 1
    assert info.description.endswith((".", ")"))
    assert info.task in ("multiclass", "multilabel")
    assert (info.positives is not None) == (info.task == "multilabel")
    assert not (info.openml and info.no_openml)


def test_the_registry_cannot_be_changed():
    with pytest.raises(TypeError):
        registry()["iris"] = None


def test_flags_has_a_name_per_task():
    assert registry()["flags"].task == "multiclass"
    assert registry()["flags_ml"].task == "multilabel"
