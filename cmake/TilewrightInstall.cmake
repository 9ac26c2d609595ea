# What `cmake --install` puts where:
#   bin/                        the commands
#   lib/                        libTilewright (tilewright/: the targets that it loads), the C runtime, and the package for find_package(Tilewright)
#   include/tilewright/         the public headers; below it dialects/: classes of the description language, the tile dialect
#   share/tilewright/           templates of tw-new-target, the lit configuration of target tests
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/Tilewright)
set(TILEWRIGHT_INSTALL_TDDIR ${CMAKE_INSTALL_INCLUDEDIR}/tilewright)
set(TILEWRIGHT_INSTALL_DATADIR ${CMAKE_INSTALL_DATADIR}/tilewright)
set(installed_tools "")
foreach(tool tw-compile tw-opt tw-run tw-targets tw-tblgen tw-launch tw-new-target tw-conformance
        tw-explore tw-bisect)
  if(TARGET ${tool})
    list(APPEND installed_tools ${tool})
  endif()
endforeach()
# LLVM's libraries are found where they were at build time, libTilewright beside the commands.
set_target_properties(Tilewright ${installed_tools} PROPERTIES
  INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR};${LLVM_LIBRARY_DIRS}")
set_target_properties(tw-launch PROPERTIES INSTALL_RPATH "") # needs libc alone
set_property(TARGET Tilewright APPEND PROPERTY INTERFACE_INCLUDE_DIRECTORIES
  $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}> $<INSTALL_INTERFACE:${TILEWRIGHT_INSTALL_TDDIR}>)
install(TARGETS Tilewright ${installed_tools} EXPORT TilewrightTargets
  RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
set_target_properties(tilewright-loadable-targets PROPERTIES
  INSTALL_RPATH "$ORIGIN/..;${LLVM_LIBRARY_DIRS}")
install(TARGETS tilewright-loadable-targets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/tilewright)
install(TARGETS tilewright-runtime-static tilewright-runtime-shared EXPORT TilewrightTargets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY core/include/tilewright DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h" PATTERN "*.def")
install(DIRECTORY dialects/Chip dialects/Tile ${CMAKE_CURRENT_BINARY_DIR}/dialects/Tile
  DESTINATION ${TILEWRIGHT_INSTALL_TDDIR}/dialects
  FILES_MATCHING PATTERN "*.td" PATTERN "*.h" PATTERN "*.h.inc" PATTERN "CMakeFiles" EXCLUDE)
install(DIRECTORY templates cmake/lit DESTINATION ${TILEWRIGHT_INSTALL_DATADIR} USE_SOURCE_PERMISSIONS)
install(EXPORT TilewrightTargets NAMESPACE Tilewright:: DESTINATION ${package_dir})

file(STRINGS core/include/tilewright/Target.h version REGEX "constexpr uint32_t targetApiVersion = ")
string(REGEX REPLACE ".* = ([0-9]+).*" "\\1" TILEWRIGHT_TARGET_API_VERSION "${version}")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS core/include/tilewright/Target.h)
set(TILEWRIGHT_LLVM_INCLUDE_DIRS ${LLVM_INCLUDE_DIRS} ${MLIR_INCLUDE_DIRS})
list(REMOVE_DUPLICATES TILEWRIGHT_LLVM_INCLUDE_DIRS)
set(TILEWRIGHT_RTTI_OPTION "")
if(NOT LLVM_ENABLE_RTTI)
  set(TILEWRIGHT_RTTI_OPTION -fno-rtti)
endif()
configure_package_config_file(cmake/TilewrightConfig.cmake.in ${CMAKE_CURRENT_BINARY_DIR}/TilewrightConfig.cmake
  INSTALL_DESTINATION ${package_dir} PATH_VARS CMAKE_INSTALL_BINDIR TILEWRIGHT_INSTALL_DATADIR TILEWRIGHT_INSTALL_TDDIR)
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/TilewrightConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/TilewrightConfig.cmake
  ${CMAKE_CURRENT_BINARY_DIR}/TilewrightConfigVersion.cmake cmake/TilewrightAddProgram.cmake
  cmake/TilewrightTarget.cmake cmake/LinkedTargets.cpp.in DESTINATION ${package_dir})
