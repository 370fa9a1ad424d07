import pytest


@pytest.fixture(autouse=True)
def _no_outside_data(request, tmp_path, monkeypatch):
    """Keep the tests off the network, off the user's cache and off the user's folders."""
    if "real_folder" in request.fixturenames:
        return
    monkeypatch.delenv("FUSELEARN_DATA", raising=False)
    monkeypatch.setenv("FUSELEARN_CACHE", str(tmp_path / "cache"))

    def refuse(**_):
        raise OSError("no network in tests")

    monkeypatch.setattr("sklearn.datasets.fetch_openml", refuse)
