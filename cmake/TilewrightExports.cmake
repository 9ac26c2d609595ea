# Which symbols libTilewright exports: what exported-symbols.py finds in the headers. Clang reads them, whatever compiles.
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  set(TILEWRIGHT_CLANG ${CMAKE_CXX_COMPILER})
else()
  find_program(TILEWRIGHT_CLANG NAMES clang++-${LLVM_VERSION_MAJOR} clang++)
endif()
find_package(Python3 COMPONENTS Interpreter)
if(NOT TILEWRIGHT_CLANG OR NOT Python3_FOUND OR TILEWRIGHT_SANITIZE)
  message(STATUS "libTilewright exports all of its symbols: its version script takes Clang, Python 3 and no sanitizer")
  return()
endif()
include(CheckLinkerFlag)
check_linker_flag(CXX "-Wl,--undefined-version" TILEWRIGHT_UNDEFINED_VERSION)
set(script ${PROJECT_SOURCE_DIR}/cmake/exported-symbols.py)
set(maps ${CMAKE_CURRENT_BINARY_DIR}/exports.map ${CMAKE_CURRENT_BINARY_DIR}/exports-for-tests.map)
list(GET maps 0 map)
list(GET maps 1 test_map)
set(includes ${PROJECT_SOURCE_DIR}/core/include ${CMAKE_CURRENT_BINARY_DIR}/include ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR})
list(TRANSFORM includes PREPEND -I)
set(system ${LLVM_INCLUDE_DIRS} ${MLIR_INCLUDE_DIRS})
list(REMOVE_DUPLICATES system)
list(TRANSFORM system PREPEND -isystem)
# A header that is new or includes another one, and a command that includes another header.
file(GLOB headers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/core/include/tilewright/*.h)
file(GLOB commands CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/core/Tools/*.cpp ${PROJECT_SOURCE_DIR}/targets/*/*.cpp)
add_custom_command(OUTPUT ${maps}
  COMMAND ${Python3_EXECUTABLE} ${script} --source ${PROJECT_SOURCE_DIR} --build ${PROJECT_BINARY_DIR} --major ${PROJECT_VERSION_MAJOR}
    --output ${map} --everything ${test_map} --depfile ${map}.d --
    ${TILEWRIGHT_CLANG} -std=c++20 ${LLVM_DEFINITIONS_LIST} ${includes} ${system}
  DEPENDS ${script} ${headers} ${commands} TilewrightTileIncGen TilewrightPassesIncGen DEPFILE ${map}.d
  COMMENT "Symbols that libTilewright exports" VERBATIM)
add_custom_target(tilewright-exports DEPENDS ${maps})
foreach(library Tilewright TilewrightForTests)
  if(TARGET ${library})
    add_dependencies(${library} tilewright-exports)
    target_link_options(${library} PRIVATE -Wl,--version-script=${map}
      $<$<BOOL:${TILEWRIGHT_UNDEFINED_VERSION}>:-Wl,--undefined-version>)
    set_property(TARGET ${library} APPEND PROPERTY LINK_DEPENDS ${map})
    set(map ${test_map})
  endif()
endforeach()
