//===- tw-new-target.cpp - Starts an out-of-tree target -------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// `tw-new-target NAME --kind simd|simt|scratchpad --dir D [--no-global-access]`:
/// copies the template of a kind of chip and gives it a name. A template is a folder of ordinary
/// files (templates/ of the sources, share/tilewright/templates of an
/// installation) in which these words are replaced:
///
///   @NAME@     acme              target, C++ namespace, libtilewright-target-acme.so
///   @Name@     Acme              records and classes
///              (the third kind is a target that the project builds and tests itself, templates/accelerator: there the
///              words are "accelerator" and "Accelerator")
///   @VERSION@  Tilewright's version, for find_package
///
//===----------------------------------------------------------------------===//

#include "core/Tools/Command.h"
#include "tilewright/Target.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"

using namespace tilewright;
using llvm::createStringError;
using llvm::formatv;
namespace cl = llvm::cl;
namespace fs = llvm::sys::fs;
namespace path = llvm::sys::path;

namespace {

struct Arguments {
  cl::OptionCategory category{"tw-new-target options"};
  cl::opt<std::string> name{cl::Positional, cl::Required, cl::desc("NAME"), cl::cat(category)};
  cl::opt<std::string> kind{"kind", cl::desc("What kind of chip it is: simd, simt or scratchpad"), cl::cat(category)};
  cl::opt<std::string> directory{"dir", cl::Required, cl::desc("Folder of the new project: empty, or not there yet"),
                                 cl::value_desc("D"), cl::cat(category)};
  cl::opt<bool> noGlobalAccess{"no-global-access", cl::cat(category),
                               cl::desc("Cores of kind scratchpad reach no memory but their own: all comes by DMA")};
};

/// What says so in the records of the template, and in those of a chip without.
constexpr std::pair<llvm::StringLiteral, llvm::StringLiteral> globalAccess{"defvar reachesGlobal = 1;",
                                                                           "defvar reachesGlobal = 0;"};

/// A kind of chip, its folder, and the words in it that stand for the target's name.
struct Template {
  llvm::StringLiteral kind, summary, folder, name, camelName;
};
constexpr Template templates[] = {
    {"simd", "cores with vector units and caches", "simd", "@NAME@", "@Name@"},
    {"simt", "a grid of blocks of lanes", "simt", "@NAME@", "@Name@"},
    {"scratchpad", "cores with scratchpads and copy engines", "accelerator", "accelerator", "Accelerator"}};

/// Words of C++, and namespaces, that a namespace of a target cannot be called.
constexpr llvm::StringLiteral reservedWords =
    " alignas alignof and asm auto bitand bitor bool break case catch char class compl concept const constexpr "
    "continue "
    "co_await co_return co_yield decltype default delete do double else enum explicit export extern false float for "
    "friend goto if inline int long mutable namespace new noexcept not nullptr operator or private protected public "
    "register requires return short signed sizeof static struct switch template this throw true try typedef typeid "
    "typename union unsigned using virtual void volatile wchar_t while xor std mlir llvm tilewright main ";

} // namespace

static llvm::Error checkName(llvm::StringRef name) {
  auto refuse = [&](const llvm::Twine &why) {
    return createStringError("'" + name + "' cannot be the name of a target: " + why);
  };
  if (name.empty() || !llvm::isAlpha(name.front()) ||
      !llvm::all_of(name, [](char c) { return llvm::isAlnum(c) || c == '_'; }))
    return refuse("it must be an identifier, a letter and then letters, digits or '_', such as acme or acme_npu");
  if (name.contains("__") || name.ends_with("_"))
    return refuse("it must not have '__' inside or '_' at its end, which C++ and the names of units need");
  if (reservedWords.contains((" " + name + " ").str()))
    return refuse("it is a word of C++ or a namespace of the compiler, and the name becomes a namespace");
  for (const Target *known : TargetRegistry::get().targets())
    if (known->name() == name)
      return refuse("this build has a target of that name already");
  return llvm::Error::success();
}

/// The template of a kind; an error lists the kinds.
static llvm::Expected<Template> templateOf(llvm::StringRef kind) {
  std::string kinds;
  for (const Template &known : templates) {
    if (known.kind == kind)
      return known;
    kinds += formatv("{0}--kind {1} ({2})", kinds.empty() ? "" : ", ", known.kind, known.summary);
  }
  return createStringError((kind.empty() ? "the kind of chip is missing" : "unknown kind of chip '" + kind + "'") +
                           "; expected " + kinds);
}

/// The folder must be empty or absent; a file of that name is refused too.
static llvm::Error checkDirectory(llvm::StringRef directory) {
  if (!fs::exists(directory))
    return llvm::Error::success();
  if (!fs::is_directory(directory))
    return createStringError(formatv("'{0}' is a file; --dir takes a folder", directory));
  std::error_code code;
  fs::directory_iterator first(directory, code);
  if (code)
    return createStringError(formatv("cannot read the folder '{0}': {1}", directory, code.message()));
  if (first != fs::directory_iterator())
    return createStringError(
        formatv("the folder '{0}' is not empty (it has '{1}'); nothing was written. Give --dir a new "
                "or an empty folder",
                directory, path::filename(first->path())));
  return llvm::Error::success();
}

/// Where the templates are: in the installation of this command, else by the build folder's link to the sources.
static llvm::Expected<std::string> templateDirectory(llvm::StringRef kind, const char *argv0) {
  std::string self = fs::getMainExecutable(argv0, reinterpret_cast<void *>(&templateDirectory));
  llvm::SmallString<256> installed(path::parent_path(path::parent_path(self)));
  llvm::SmallString<256> sources(installed);
  path::append(installed, "share", "tilewright", "templates");
  path::append(sources, "share", "templates");
  for (llvm::SmallString<256> *candidate : {&installed, &sources}) {
    path::append(*candidate, kind);
    if (fs::is_directory(*candidate))
      return candidate->str().str();
  }
  return createStringError(
      formatv("the template of this kind is missing: neither '{0}' nor '{1}' exists", installed, sources));
}

/// acme_npu -> AcmeNpu.
static std::string camelCase(llvm::StringRef name) {
  std::string result;
  bool begin = true;
  for (char c : name) {
    if (c != '_')
      result += begin ? llvm::toUpper(c) : c;
    begin = c == '_';
  }
  return result;
}

static void replaceAll(std::string &text, llvm::StringRef word, llvm::StringRef value) {
  for (size_t at = 0; (at = text.find(word.str(), at)) != std::string::npos; at += value.size())
    text.replace(at, word.size(), value.str());
}

/// Copies the file with its words replaced; its permissions stay.
static llvm::Error instantiate(llvm::StringRef from, llvm::StringRef to,
                               llvm::ArrayRef<std::pair<std::string, std::string>> words) {
  auto text = llvm::MemoryBuffer::getFile(from);
  if (!text)
    return createStringError(formatv("cannot read '{0}': {1}", from, text.getError().message()));
  std::string contents = (*text)->getBuffer().str();
  for (const auto &[word, value] : words)
    replaceAll(contents, word, value);
  if (std::error_code code = fs::create_directories(path::parent_path(to)))
    return createStringError(formatv("cannot make the folder '{0}': {1}", path::parent_path(to), code.message()));
  if (llvm::Error error = writeFile(to, contents))
    return error;
  if (auto permissions = fs::getPermissions(from))
    (void)fs::setPermissions(to, *permissions);
  return llvm::Error::success();
}

/// Every file of the template; how many.
static llvm::Expected<unsigned> copyTemplate(llvm::StringRef from, llvm::StringRef directory,
                                             llvm::ArrayRef<std::pair<std::string, std::string>> words) {
  unsigned files = 0;
  std::error_code code;
  for (fs::recursive_directory_iterator it(from, code), end; it != end && !code; it.increment(code)) {
    if (fs::is_directory(it->path()))
      continue;
    llvm::SmallString<256> to(directory);
    path::append(to, llvm::StringRef(it->path()).drop_front(from.size()).ltrim('/'));
    if (llvm::Error error = instantiate(it->path(), to, words))
      return error;
    ++files;
  }
  if (code)
    return createStringError(formatv("cannot read the template '{0}': {1}", from, code.message()));
  return files;
}

/// Empties a folder that this command has filled.
static void removeContents(llvm::StringRef directory) {
  std::error_code code;
  std::vector<std::string> entries;
  for (fs::directory_iterator it(directory, code), end; it != end && !code; it.increment(code))
    entries.push_back(it->path());
  for (const std::string &entry : entries)
    (void)(fs::is_directory(entry) ? fs::remove_directories(entry) : fs::remove(entry));
}

static llvm::Error run(const Arguments &arguments, const char *argv0) {
  if (llvm::Error error = checkName(arguments.name))
    return error;
  if (llvm::Error error = checkDirectory(arguments.directory))
    return error;
  llvm::Expected<Template> made = templateOf(arguments.kind);
  if (!made)
    return made.takeError();
  llvm::Expected<std::string> from = templateDirectory(made->folder, argv0);
  if (!from)
    return from.takeError();

  if (arguments.noGlobalAccess && arguments.kind != "scratchpad")
    return createStringError("--no-global-access is for --kind scratchpad: cores of the other kinds load and store "
                             "global memory");
  std::vector<std::pair<std::string, std::string>> words{{made->name.str(), arguments.name},
                                                         {made->camelName.str(), camelCase(arguments.name)},
                                                         {"@VERSION@", TILEWRIGHT_VERSION}};
  if (arguments.noGlobalAccess)
    words.emplace_back(globalAccess.first.str(), globalAccess.second.str());
  bool wasThere = fs::exists(arguments.directory);
  llvm::Expected<unsigned> files = copyTemplate(*from, arguments.directory, words);
  if (!files) { // half a project is none: the folder was empty or absent
    removeContents(arguments.directory);
    if (!wasThere)
      (void)fs::remove(arguments.directory);
    return files.takeError();
  }
  // PREFIX/share/tilewright/templates/NAME; a build folder is no installation.
  llvm::StringRef prefix = *from;
  for (const char *part : {"", "templates", "tilewright", "share"}) {
    bool here = !*part || path::filename(prefix) == part;
    prefix = here ? path::parent_path(prefix) : "<where Tilewright is installed>";
    if (!here)
      break;
  }
  llvm::outs() << formatv("{0}: {1} files of target '{2}', beginning with README.md\n"
                          "  cmake -S {0} -B {0}/build -DCMAKE_PREFIX_PATH={3}\n"
                          "  cmake --build {0}/build && ctest --test-dir {0}/build --output-on-failure\n",
                          arguments.directory, *files, arguments.name, prefix);
  return llvm::Error::success();
}

int main(int argc, char **argv) {
  Command command(argc, argv);
  Arguments arguments;
  cl::HideUnrelatedOptions(arguments.category);
  cl::ParseCommandLineOptions(argc, argv, "Writes a complete out-of-tree target that builds and passes its tests\n");
  registerLinkedTargets();
  if (llvm::Error error = run(arguments, argv[0]))
    return fail(std::move(error));
  return finish(0);
}
