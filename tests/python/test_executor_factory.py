"""What a compiled model says of itself in a program and in a notebook."""

from __future__ import annotations

import base64
import sys
from html.parser import HTMLParser
from xml.etree import ElementTree

import numpy as np
import pytest
import tvm
from tvm import relax

import usmp
from support.entry_models import entry_model
from usmp.driver.build.summary import print_summary
from usmp.objects import Executor
from usmp.report.text_tables import printed_text

pytestmark = pytest.mark.usefixtures("digits_session")


@pytest.fixture(scope="module")
def factory(request):
    path = request.config.rootpath / "examples/digits/digits_int8.tflite"
    return usmp.build(usmp.import_model(path), module_name="digits")


@pytest.mark.parametrize(("interface", "runtime"), [("c", "crt"), ("packed", "cpp")])
def test_the_runtime_is_the_one_that_can_call_the_functions(factory, interface, runtime):
    executor = Executor("aot", {"interface-api": interface, "unpacked-api": interface == "c"})
    mod = factory.ir_mod.with_attr("executor", executor)
    assert str(usmp.AOTExecutorFactoryModule(mod, "digits", None).runtime.name) == runtime


class Texts(HTMLParser):
    """The tags of a page, its texts, and the texts of its drawing."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.texts: list[str] = []
        self.drawn: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        if tag != "img":
            assert not attrs
            return
        attributes = dict(attrs)
        assert set(attributes) == {"alt", "src", "style"}
        kind, _, encoded = attributes["src"].partition(",")
        assert kind == "data:image/svg+xml;base64"
        drawing = ElementTree.fromstring(base64.b64decode(encoded))
        tags = {element.tag.rpartition("}")[2] for element in drawing.iter()}
        assert tags <= {"svg", "g", "path", "rect", "text", "line", "defs", "clipPath", "title"}
        self.drawn = [element.text for element in drawing.iter() if element.text]

    def handle_data(self, data):
        self.texts.append(data)


@pytest.mark.slow
def test_summary_is_what_tvmc_prints(factory):
    assert factory.summary() == printed_text(lambda console: print_summary(factory, console))
    assert "RAM 1002 bytes" in factory.summary()


@pytest.mark.slow
def test_summary_is_text_in_a_notebook_and_on_a_terminal(factory, monkeypatch):
    plain = factory.summary()
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "20")
    monkeypatch.setattr("rich.console._is_jupyter", lambda: True)
    assert factory.summary() == plain


@pytest.mark.slow
def test_html_has_the_pools_and_the_tensors(factory):
    page = Texts(factory._repr_html_())
    cells = [text for text in page.texts if text.strip()]
    assert cells == [
        *("digits_int8, module digits", ": RAM 1002 bytes (auto)"),
        *("pool", "kind", "peak bytes", "lower bound", "optimal"),
        *("global_workspace", "workspace", "928", "928", "yes"),
        *("global_const_workspace", "constant", "27112", "27112", "yes"),
        *("Inputs: ", "image int8[1, 8, 8, 1]", "Outputs: ", "probabilities int8[1, 10]"),
    ]
    assert "peak 928 bytes = lower bound" in page.drawn


def test_html_without_the_extra_has_no_picture(factory, monkeypatch):
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    page = Texts(factory._repr_html_())
    assert "img" not in page.tags
    assert "global_workspace" in page.texts


@pytest.mark.slow
def test_entries_are_shown():
    factory = usmp.build(entry_model())
    assert repr(factory) == (
        'AOTExecutorFactoryModule "default": RAM 301 bytes\n'
        "  pools: global_const_workspace 288, global_workspace 97\n"
        "  learn: x float32[1, 8] -> y float32[1, 8]\n"
        "  tell: x float32[1, 8] -> y float32[1, 8]\n"
        "  plain: x float32[3, 8] -> y float32[3, 8], largest float32[3]"
    )
    cells = [text for text in Texts(factory._repr_html_()).texts if text.strip()]
    assert cells[cells.index("Entry ") :] == [
        *("Entry ", "learn", "Inputs: ", "x float32[1, 8]", "Outputs: ", "y float32[1, 8]"),
        *("Entry ", "tell", "Inputs: ", "x float32[1, 8]", "Outputs: ", "y float32[1, 8]"),
        *("Entry ", "plain", "Inputs: ", "x float32[3, 8]", "Outputs: "),
        *("y float32[3, 8]", ", ", "largest float32[3]"),
    ]
    assert "in entry plain" in factory.summary()


@pytest.mark.slow
def test_texts_of_a_hostile_model_are_no_html():
    name = "<script>alert('\"&amp;\u202e\x1b')</script>"
    builder = relax.BlockBuilder()
    x = relax.Var(name, relax.TensorType((4,), "float32"))
    with builder.function("main", [x]):
        with builder.dataflow():
            y = builder.emit_output(relax.op.add(x, relax.const(np.ones(4, np.float32))))
        builder.emit_func_output(y)
    factory = usmp.build(builder.get(), target=tvm.target.Target("c"))
    page = Texts(factory._repr_html_())
    assert set(page.tags) == {
        "b",
        "br",
        "code",
        "div",
        "img",
        "p",
        "table",
        "tbody",
        "td",
        "th",
        "thead",
        "tr",
    }
    shown = "<script>alert('\"&amp;\\u202e\\x1b')</script> float32[4]"
    assert shown in page.texts
    assert not any("\x1b" in text or "\u202e" in text for text in page.drawn)
