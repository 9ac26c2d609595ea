"""What the shared libraries export is what their headers declare: `nm -D --defined-only`, name by name."""

import re
import subprocess

import pytest

from conftest import BUILD, SANITIZERS, SOURCE

INTERFACE = SOURCE / "core/include/tilewright"
pytestmark = pytest.mark.skipif(bool(SANITIZERS), reason="libraries with sanitizers export everything")


def symbols(library, *options):
    """Names and nodes of the version script."""
    listing = subprocess.run(["nm", "-D", "--with-symbol-versions", *options, BUILD / library], capture_output=True, text=True, check=True)
    found = [line.split()[-1] for line in listing.stdout.splitlines()]
    return [(name, node) for name, _, node in (re.sub("@@", "@", each).partition("@") for each in found)]


def c_functions(*headers):
    text = "".join((INTERFACE / f"{name}.h").read_text() for name in headers)
    return set(re.findall(r"^TW_API [^;(]*?\b(\w+)\(", text, re.MULTILINE))


def test_runtime_library():
    found = {name for name, _ in symbols("lib/libtilewright-runtime.so", "--defined-only")}
    assert found == c_functions("tilewright_runtime", "tilewright_driver")


def test_functions_of_c():
    # What compiled code calls in the compiler's own process is apart.
    found = {name for name, node in symbols("lib/libTilewright.so", "--defined-only")
             if not name.startswith("_Z") and "TILEWRIGHT" not in name and node != "TILEWRIGHT_0_PRIVATE"}
    declared = c_functions("tilewright_runtime", "tilewright_driver", "tilewright_compiler")
    assert c_functions("tilewright_compiler") <= found <= declared
    assert "twc_compile" in found and "tw_launch" in found


def words_of(*folders):
    """All identifiers of headers, comments left out."""
    text = "".join(path.read_text() for folder in folders for path in folder.rglob("*.h*") if path.suffix in (".h", ".inc"))
    return set(re.findall(r"~?\w+", re.sub(r"//.*|/\*.*?\*/", "", text)))


def declared_name(symbol):
    """`tilewright::Layout::numLanes(int) const` -> Layout, numLanes; of a table of virtual functions the class."""
    symbol = re.sub(r"^(vtable|typeinfo|typeinfo name|VTT) for |^non-virtual thunk to ", "", symbol)
    symbol = re.sub(r"^mlir::detail::TypeIDResolver<(.*), void>::id$", r"\1", symbol)
    symbol = re.sub(r"\[abi:\w+\]", "", symbol)
    symbol = re.sub(r"^[^(]* (tilewright::\w+)<.*>\(.*", r"\1", symbol)  # an instance of a template, its result first
    symbol = re.sub(r"\(anonymous namespace\)", "anonymous", symbol)
    head = re.match(r"(?:tilewright::)((?:[\w~]+|operator[^(]+|::)*)", symbol)
    return head.group(1).split("::") if head else None


def demangled(names):
    return subprocess.run(["c++filt"], input="\n".join(names), capture_output=True, text=True, check=True).stdout.splitlines()


def test_functions_of_cpp():
    """The node for everyone has nothing but declarations of the installed headers; what commands alone use is apart."""
    found = [(name, node) for name, node in symbols("lib/libTilewright.so", "--defined-only") if name.startswith("_Z")]
    assert len(found) > 500
    interface = words_of(INTERFACE, SOURCE / "dialects/Tile", BUILD / "dialects/Tile")
    internal = interface | words_of(SOURCE / "core")
    for words, node in ((interface, "TILEWRIGHT_0"), (internal, "TILEWRIGHT_0_PRIVATE")):
        names = [name for name, each in found if each == node]
        for symbol in demangled(names):
            parts = declared_name(symbol)
            assert parts, f"{node}: {symbol} is nothing of this project"
            strange = [part for part in parts if part.lstrip("~") not in words and not part.startswith("operator")]
            assert not strange, f"{node}: {symbol}: no header declares {strange}"
    assert {node for _, node in found} == {"TILEWRIGHT_0", "TILEWRIGHT_0_PRIVATE"}


@pytest.mark.parametrize("name, declared", [
    ("_ZN10tilewright14TargetRegistry3getEv", "TargetRegistry& TargetRegistry::get()"),
    ("_ZTVN10tilewright6TargetE", "the virtual functions of Target"),
    ("_ZTIN10tilewright11TableTargetE", "the type of TableTarget"),
    ("_ZN10tilewright22registerLinkedTargetsEv", "of the program, not of the library")])
def test_what_a_plugin_needs_is_there(name, declared):
    found = dict(symbols("lib/libTilewright.so", "--defined-only"))
    assert (found.get(name) == "TILEWRIGHT_0") == (name != "_ZN10tilewright22registerLinkedTargetsEv"), declared


def test_plugins_take_the_interface_alone():
    """A vendor's plugin is linked with symbols of the node for everyone."""
    plugins = [path for path in (BUILD / "lib/tilewright").glob("libtilewright-target-*.so")]
    assert plugins
    for plugin in plugins:
        nodes = {node for _, node in symbols(plugin.relative_to(BUILD), "--undefined-only") if "TILEWRIGHT" in node}
        assert nodes == {"TILEWRIGHT_0"}, (plugin, nodes)
