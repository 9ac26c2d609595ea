# LLVM and MLIR 22.1 from Debian's packages: the shared libraries, so that linking takes no time.
find_package(MLIR 22.1 REQUIRED CONFIG HINTS /usr/lib/llvm-22/lib/cmake/mlir)
find_package(LLVM 22.1 REQUIRED CONFIG HINTS /usr/lib/llvm-22/lib/cmake/llvm)
message(STATUS "LLVM ${LLVM_PACKAGE_VERSION} in ${LLVM_DIR}")
list(APPEND CMAKE_MODULE_PATH "${MLIR_CMAKE_DIR}" "${LLVM_CMAKE_DIR}")
include(TableGen)
include(AddLLVM)
include(AddMLIR)

include_directories(SYSTEM ${LLVM_INCLUDE_DIRS} ${MLIR_INCLUDE_DIRS})
separate_arguments(LLVM_DEFINITIONS_LIST NATIVE_COMMAND "${LLVM_DEFINITIONS}")
add_definitions(${LLVM_DEFINITIONS_LIST})

find_library(TILEWRIGHT_ISL isl REQUIRED)

# lld as a library links shared libraries without a compiler driver.
find_library(TILEWRIGHT_LLD_ELF lldELF HINTS ${LLVM_LIBRARY_DIRS} REQUIRED)
find_library(TILEWRIGHT_LLD_COMMON lldCommon HINTS ${LLVM_LIBRARY_DIRS} REQUIRED)
find_package(ZLIB REQUIRED)
find_library(TILEWRIGHT_ZSTD zstd REQUIRED)
set(TILEWRIGHT_LLD ${TILEWRIGHT_LLD_ELF} ${TILEWRIGHT_LLD_COMMON} ZLIB::ZLIB ${TILEWRIGHT_ZSTD})
