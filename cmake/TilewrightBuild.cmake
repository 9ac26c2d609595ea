# How the project's own code is compiled: warnings are errors, LLVM's RTTI and exception settings.
add_library(tilewright-options INTERFACE)
target_compile_options(tilewright-options INTERFACE
  "$<$<COMPILE_LANGUAGE:C>:-Wall;-Wextra;-Werror;-Wno-unused-parameter>"
  "$<$<COMPILE_LANGUAGE:C>:-fvisibility=hidden;-ffp-contract=off;-fno-math-errno>")
target_compile_options(tilewright-options INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Werror -Wno-unused-parameter -Wno-deprecated-declarations -fno-exceptions>)
if(NOT LLVM_ENABLE_RTTI)
  target_compile_options(tilewright-options INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-fno-rtti>)
endif()
if(TILEWRIGHT_SANITIZE)
  target_compile_options(tilewright-options INTERFACE
    -fsanitize=${TILEWRIGHT_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=undefined
    # Its check reads what stands before a function's first instruction: code made at run time may begin a page, and drivers are opened
    # by other types than theirs.
    -fno-sanitize=function)
  target_link_options(tilewright-options INTERFACE -fsanitize=${TILEWRIGHT_SANITIZE})
endif()

# MLIR's headers cost 4 of the 5 seconds that a small file takes to compile, so they are precompiled once. Without it
# (OFF, as in the sanitized build) a file that forgets an #include does not compile.
option(TILEWRIGHT_PRECOMPILED_HEADERS "Precompile the headers of LLVM and MLIR that most files include" ON)
if(TILEWRIGHT_PRECOMPILED_HEADERS)
  # CMake's own form names the header beside its precompiled form, by an absolute path that no compiler cache sees through.
  if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    set(CMAKE_CXX_COMPILE_OPTIONS_USE_PCH -include-pch <PCH_FILE>)
  endif()
  file(WRITE ${CMAKE_BINARY_DIR}/cmake/PrecompiledHeaders.cpp "// Only carries the precompiled headers.\n")
  add_library(tilewright-headers OBJECT ${CMAKE_BINARY_DIR}/cmake/PrecompiledHeaders.cpp)
  target_link_libraries(tilewright-headers PRIVATE tilewright-options)
  target_precompile_headers(tilewright-headers PRIVATE
    <mlir/Dialect/Affine/IR/AffineOps.h> <mlir/Dialect/Arith/IR/Arith.h> <mlir/Dialect/Func/IR/FuncOps.h>
    <mlir/Dialect/LLVMIR/LLVMDialect.h> <mlir/Dialect/Linalg/IR/Linalg.h> <mlir/Dialect/Math/IR/Math.h>
    <mlir/Dialect/MemRef/IR/MemRef.h> <mlir/Dialect/SCF/IR/SCF.h> <mlir/Dialect/Tensor/IR/Tensor.h>
    <mlir/Dialect/Vector/IR/VectorOps.h> <mlir/IR/Builders.h> <mlir/Pass/Pass.h> <mlir/Pass/PassManager.h>
    <llvm/Support/CommandLine.h> <llvm/Support/Error.h> <llvm/Support/FormatVariadic.h> <llvm/Support/JSON.h>)
  target_compile_options(tilewright-headers PRIVATE "SHELL:-Xclang -fno-pch-timestamp")
endif()

# tilewright_precompiled_headers(TARGET): TARGET, position-independent as every library, takes the precompiled headers.
function(tilewright_precompiled_headers target)
  if(TILEWRIGHT_PRECOMPILED_HEADERS)
    target_precompile_headers(${target} REUSE_FROM tilewright-headers)
  endif()
endfunction()

# What the precompiled headers cannot hold, other headers and instances of templates, is most of the rest: files of one folder are
# compiled together, and a full build takes half of the processor time. What a file keeps to itself has a name that its neighbours do not use.
option(TILEWRIGHT_UNITY "Compile the files of a component in groups" ON)
set(CMAKE_UNITY_BUILD ${TILEWRIGHT_UNITY})
set(TILEWRIGHT_UNITY_FILES 24 CACHE STRING "Files in a group: more take less time in all, and more after a change")
set(CMAKE_UNITY_BUILD_BATCH_SIZE ${TILEWRIGHT_UNITY_FILES})

find_program(TILEWRIGHT_CCACHE ccache)
if(TILEWRIGHT_CCACHE)
  # Files that take precompiled headers are cached too, by a checksum of what went into the headers.
  set(launcher ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros CCACHE_PCH_EXTSUM=1 ${TILEWRIGHT_CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${launcher})
  set(CMAKE_C_COMPILER_LAUNCHER ${launcher})
  if(TILEWRIGHT_PRECOMPILED_HEADERS)
    get_target_property(headers tilewright-headers PRECOMPILE_HEADERS)
    string(SHA256 checksum "${headers};${CMAKE_BUILD_TYPE};${CMAKE_CXX_COMPILER_VERSION};${LLVM_PACKAGE_VERSION};${TILEWRIGHT_SANITIZE}")
    set_target_properties(tilewright-headers PROPERTIES CXX_COMPILER_LAUNCHER "${launcher}")
    file(WRITE ${CMAKE_BINARY_DIR}/CMakeFiles/tilewright-headers.dir/cmake_pch.hxx.pch.sum "${checksum}")
  endif()
endif()

# tilewright_component(NAME [DEPENDS ...]): every .cpp of this folder and of those in it becomes part of libTilewright.
function(tilewright_component name)
  cmake_parse_arguments(ARG "" "" "DEPENDS" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  if(NOT sources)
    return()
  endif()
  add_library(tilewright-${name} OBJECT ${sources})
  target_link_libraries(tilewright-${name} PRIVATE tilewright-options)
  tilewright_precompiled_headers(tilewright-${name})
  if(ARG_DEPENDS)
    add_dependencies(tilewright-${name} ${ARG_DEPENDS})
  endif()
  set_property(GLOBAL APPEND PROPERTY TILEWRIGHT_COMPONENTS tilewright-${name})
endfunction()

# tilewright_tablegen(TD OUT ARGS... TARGET name): one mlir-tblgen output.
function(tilewright_mlir_tablegen td out)
  set(LLVM_TARGET_DEFINITIONS ${td})
  mlir_tablegen(${out} ${ARGN})
  set(TABLEGEN_OUTPUT ${TABLEGEN_OUTPUT} PARENT_SCOPE)
endfunction()

# Targets from records; dialects/Chip/*.td are found from the top.
set(TILEWRIGHT_INCLUDE_TD ${CMAKE_CURRENT_LIST_DIR}/..)
set(TILEWRIGHT_CMAKE_DIR ${CMAKE_CURRENT_LIST_DIR})
set(TILEWRIGHT_DATA_DIR ${CMAKE_CURRENT_LIST_DIR})
set(TILEWRIGHT_BIN_DIR ${CMAKE_BINARY_DIR}/bin)
set(TILEWRIGHT_LLVM_TOOLS_DIR ${LLVM_TOOLS_BINARY_DIR})
include(TilewrightTarget)
