# Tests of a target plugin, as tilewright_target_tests sets them up: %plugin is the library under test, %plugin-dir its
# folder, %device the option of tw-run that says where programs run (TILEWRIGHT_DEVICE); commands of the package and LLVM's
# FileCheck and not are on the path.
import os
import shlex

import lit.formats

config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test", ".td"]
config.excludes = ["Inputs", "CMakeLists.txt"]
config.substitutions.append(("%plugin-dir", os.path.dirname(config.plugin)))
config.substitutions.append(("%plugin", config.plugin))
config.substitutions.append(("%device", shlex.quote("--device=" + config.device)))
config.environment["PATH"] = os.pathsep.join([*config.tools, config.environment.get("PATH", os.environ["PATH"])])
