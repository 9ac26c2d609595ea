# Targets from records: the functions that the project's own targets and a vendor's out-of-tree project share. They need
# TILEWRIGHT_INCLUDE_TD, the directory that has dialects/Chip/Chip.td; the package and the project's build set it.

# tilewright_target_tables(NAME CHIPS.td [NAMESPACE ns]): Chips.inc (C++ tables), reference.md and reference.h from a target's
# records, in the current build folder, by the custom target tilewright-NAME-tables. Sets TILEWRIGHT_TABLES to the table.
function(tilewright_target_tables target td)
  cmake_parse_arguments(PARSE_ARGV 2 ARG "" "NAMESPACE" "")
  if(NOT ARG_NAMESPACE)
    set(ARG_NAMESPACE ${target})
  endif()
  set(generator tw-tblgen)
  if(TARGET Tilewright::tw-tblgen)
    set(generator Tilewright::tw-tblgen)
  endif()
  cmake_path(ABSOLUTE_PATH td BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
  # Functions that records ship (IrFunction).
  file(GLOB functions CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.ll ${CMAKE_CURRENT_SOURCE_DIR}/*.mlir)
  foreach(output Chips.inc:-gen-tables reference.md:-gen-reference reference.h:-gen-c-header)
    string(REPLACE ":" ";" output ${output})
    list(GET output 0 file)
    list(GET output 1 mode)
    set(path ${CMAKE_CURRENT_BINARY_DIR}/${file})
    add_custom_command(OUTPUT ${path}
      COMMAND ${generator} ${mode} -target=${target} -namespace=${ARG_NAMESPACE} -I ${TILEWRIGHT_INCLUDE_TD} ${td}
        -I ${CMAKE_CURRENT_SOURCE_DIR} -o ${path} -d ${path}.d
      DEPENDS ${generator} ${td} ${functions} DEPFILE ${path}.d COMMENT "Records of target ${target}: ${file}" VERBATIM)
  endforeach()
  add_custom_target(tilewright-${target}-tables
    DEPENDS ${CMAKE_CURRENT_BINARY_DIR}/Chips.inc ${CMAKE_CURRENT_BINARY_DIR}/reference.md
      ${CMAKE_CURRENT_BINARY_DIR}/reference.h)
  set(TILEWRIGHT_TABLES ${CMAKE_CURRENT_BINARY_DIR}/Chips.inc PARENT_SCOPE)
endfunction()

# tilewright_target(NAME CHIPS.td [NAMESPACE ns]): the records and the .cpp files of this folder, twice:
#   tilewright-plugin-NAME   lib/tilewright/libtilewright-target-NAME.so of the build folder, for --load-target=
#   tilewright-target-NAME   a static library, for programs that link the target in (tilewright_link_targets)
# The project's own build makes the second by default, a vendor's the first.
function(tilewright_target name td)
  tilewright_target_tables(${name} ${td} ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  if(TARGET Tilewright::Tilewright)
    if(NOT TILEWRIGHT_HAVE_MLIR)
      message(FATAL_ERROR "A target is compiled with the headers of MLIR ${TILEWRIGHT_LLVM_VERSION}, which are not in "
        "${TILEWRIGHT_LLVM_INCLUDE_DIRS}: install libmlir-22-dev and llvm-22-dev, or set TILEWRIGHT_LLVM_INCLUDE_DIRS")
    endif()
    set(core Tilewright::Tilewright)
    set(by_default tilewright-plugin-${name})
  else()
    set(core Tilewright)
    set(by_default tilewright-target-${name})
  endif()
  add_library(tilewright-target-${name} STATIC ${sources})
  add_library(tilewright-plugin-${name} MODULE ${sources})
  target_link_libraries(tilewright-target-${name} PUBLIC ${core})
  target_link_libraries(tilewright-plugin-${name} PRIVATE ${core})
  target_compile_definitions(tilewright-plugin-${name} PRIVATE TILEWRIGHT_LOADABLE_TARGET)
  # What the plugin lacks shows when it is linked, not when it is first called.
  target_link_options(tilewright-plugin-${name} PRIVATE -Wl,-z,now $<$<BOOL:${TILEWRIGHT_HAVE_MLIR}>:-Wl,-z,defs>)
  set_target_properties(tilewright-plugin-${name} PROPERTIES OUTPUT_NAME tilewright-target-${name}
    LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib/tilewright)
  foreach(library tilewright-target-${name} tilewright-plugin-${name})
    add_dependencies(${library} tilewright-${name}-tables)
    target_include_directories(${library} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR} ${CMAKE_CURRENT_BINARY_DIR})
    set_target_properties(${library} PROPERTIES CXX_STANDARD 20 CXX_STANDARD_REQUIRED ON CXX_EXTENSIONS OFF
      POSITION_INDEPENDENT_CODE ON)
    if(TARGET tilewright-options)
      target_link_libraries(${library} PRIVATE tilewright-options)
      tilewright_precompiled_headers(${library})
    else()
      target_compile_options(${library} PRIVATE ${TILEWRIGHT_PLUGIN_OPTIONS})
    endif()
    if(NOT library STREQUAL by_default)
      set_target_properties(${library} PROPERTIES EXCLUDE_FROM_ALL ON)
    endif()
  endforeach()
endfunction()

# tilewright_link_targets(PROGRAM NAME...): links the targets NAME... into PROGRAM and gives it
# tilewright::registerLinkedTargets(), which registers them.
function(tilewright_link_targets program)
  set(declarations "")
  set(registrations "")
  foreach(target IN LISTS ARGN)
    string(APPEND declarations "extern \"C\" const tilewright::TargetPlugin *tilewrightTarget_${target}();\n")
    string(APPEND registrations "  add(tilewrightTarget_${target}());\n")
    target_link_libraries(${program} PUBLIC tilewright-target-${target})
  endforeach()
  configure_file(${TILEWRIGHT_CMAKE_DIR}/LinkedTargets.cpp.in ${CMAKE_CURRENT_BINARY_DIR}/${program}-targets.cpp @ONLY)
  target_sources(${program} PRIVATE ${CMAKE_CURRENT_BINARY_DIR}/${program}-targets.cpp)
endfunction()

# tilewright_target_tests(NAME [DIRECTORY test]): the tests of the plugin NAME for ctest.
#   NAME-lit           every .mlir and .test file below DIRECTORY by its RUN lines; %plugin is the loadable library, %plugin-dir
#                      its folder, %device tw-run's option for TILEWRIGHT_DEVICE, and the commands of this package are on the path
#   NAME-conformance   tw-conformance on the target's default chip and TILEWRIGHT_DEVICE, with TILEWRIGHT_CONFORMANCE_OPTIONS (a
#                      list; its first value is that of the environment, else --quick --max-refused=0)
# TILEWRIGHT_DEVICE is a device of tw-run: auto (the default), model, exec:PROG, ...
function(tilewright_target_tests name)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "" "DIRECTORY" "")
  if(NOT ARG_DIRECTORY)
    set(ARG_DIRECTORY test)
  endif()
  cmake_path(ABSOLUTE_PATH ARG_DIRECTORY BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
  set(TILEWRIGHT_DEVICE auto CACHE STRING "Where programs run in the tests of targets: a device of tw-run")
  set(suite ${CMAKE_CURRENT_BINARY_DIR}/lit)
  set(plugin $<TARGET_FILE:tilewright-plugin-${name}>)
  file(GENERATE OUTPUT ${suite}/lit.site.cfg.py CONTENT "config.name = '${name}'
config.test_source_root = '${ARG_DIRECTORY}'
config.test_exec_root = '${suite}/results'
config.plugin = '${plugin}'
config.device = r''' ${TILEWRIGHT_DEVICE} '''.strip()
config.tools = ['${TILEWRIGHT_BIN_DIR}', '${TILEWRIGHT_LLVM_TOOLS_DIR}']
lit_config.load_config(config, '${TILEWRIGHT_DATA_DIR}/lit/lit.cfg.py')
")
  add_test(NAME ${name}-lit COMMAND ${TILEWRIGHT_LLVM_TOOLS_DIR}/lit -sv ${suite})
  if(TARGET Tilewright::tw-conformance)
    set(options --quick --max-refused=0)
    if(DEFINED ENV{TILEWRIGHT_CONFORMANCE_OPTIONS})
      set(options "$ENV{TILEWRIGHT_CONFORMANCE_OPTIONS}")
    endif()
    set(TILEWRIGHT_CONFORMANCE_OPTIONS "${options}" CACHE STRING "Options of tw-conformance in the tests of targets")
    add_test(NAME ${name}-conformance COMMAND Tilewright::tw-conformance --load-target=${plugin} --target ${name}
      --device=${TILEWRIGHT_DEVICE} ${TILEWRIGHT_CONFORMANCE_OPTIONS})
  endif()
endfunction()
