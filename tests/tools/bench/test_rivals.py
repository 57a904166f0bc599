import pytest

from tools.bench.rivals import FORMS, SAMPLES, sizes


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("sample", SAMPLES)
def test_every_form_says_the_same(form, sample):
    way = FORMS[form]
    assert way.decode(way.encode(SAMPLES[sample])) == SAMPLES[sample]


@pytest.mark.parametrize("sample", SAMPLES)
def test_protobuf_is_smaller_than_json_and_json_than_xml(sample):
    found = sizes()[sample]
    assert found["protobuf"] < found["JSON"] < found["XML"]
    assert found["protobuf in its envelope"] < found["JSON"]
