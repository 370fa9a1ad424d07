"""What several tests of model files need."""

import io
import json
import zipfile

import pytest

from fuselearn.io import files


def read_entries(content):
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def write_entries(entries, compression=zipfile.ZIP_STORED):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", compression) as archive:
        for name, content in entries.items():
            archive.writestr(name, content)
    return packed.getvalue()


@pytest.fixture
def forge():
    """Give a function that rewrites entries of a model file and makes the digest fit, as an attacker would."""

    def rewrite(path, changes, compression=zipfile.ZIP_STORED):
        entries = {**read_entries(path.read_bytes()), **changes}
        if files.DIGEST not in changes:
            entries[files.DIGEST] = files._digest(entries[files.HEADER], entries[files.MODEL])
        path.write_bytes(write_entries(entries, compression))

    return rewrite


@pytest.fixture
def forge_model(forge):
    """Give a function that changes entries inside of the model, or its description with a function."""

    def rewrite(path, changes=None, describe=None):
        inner = {**read_entries(read_entries(path.read_bytes())[files.MODEL]), **(changes or {})}
        if describe is not None:
            schema = json.loads(inner["schema.json"])
            inner["schema.json"] = json.dumps(describe(schema) or schema).encode()
        forge(path, {files.MODEL: write_entries(inner, zipfile.ZIP_DEFLATED)})

    return rewrite
