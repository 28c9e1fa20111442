"""Every random checkpoint that golden files are made of, one for every switch of a config.json. The
folder of a family and the name of a case are the folder that the golden file is in."""

from tests.golden.catalogue import bert, gpt2, llama
from tests.golden.catalogue.case import Case

FAMILIES: dict[str, tuple[Case, ...]] = {
    "gpt2": gpt2.CASES,
    "llama": llama.CASES,
    "bert": bert.CASES,
}
