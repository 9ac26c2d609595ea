# What `cmake --install` puts where, and which package has it (TilewrightPackages.cmake):
#   runtime   bin/tw-launch and the C runtime: libc alone
#   tools     bin/: the commands; lib/: libTilewright and, in tilewright/, the targets that it loads; share/tilewright/examples
#   dev       what a vendor builds with: include/tilewright/ (headers; dialects/: classes of the description language, the tile
#             dialect), the packages for find_package(Tilewright) and pkg-config, tw-tblgen and tw-new-target with its templates,
#             the lit configuration of target tests, share/tilewright/scripts
#   doc       share/doc/tilewright/html: pages, reference and interface as a site, where the target `docs` was built
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/Tilewright)
set(TILEWRIGHT_INSTALL_TDDIR ${CMAKE_INSTALL_INCLUDEDIR}/tilewright)
set(TILEWRIGHT_INSTALL_DATADIR ${CMAKE_INSTALL_DATADIR}/tilewright)
# Permissions are the package's, not those that a checkout happens to have.
set(CMAKE_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE
  WORLD_READ WORLD_EXECUTE)
set(development_tools tw-tblgen tw-new-target)
get_property(commands GLOBAL PROPERTY TILEWRIGHT_COMMANDS)
set(installed_tools ${commands})
list(REMOVE_ITEM installed_tools ${development_tools})
# LLVM's libraries are found where they were at build time, libTilewright beside the commands.
set_target_properties(Tilewright ${installed_tools} ${development_tools} PROPERTIES
  INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR};${LLVM_LIBRARY_DIRS}")
set_target_properties(tw-launch PROPERTIES INSTALL_RPATH "") # needs libc alone
set_property(TARGET Tilewright APPEND PROPERTY INTERFACE_INCLUDE_DIRECTORIES
  $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}> $<INSTALL_INTERFACE:${TILEWRIGHT_INSTALL_TDDIR}>)
install(TARGETS Tilewright ${installed_tools} EXPORT TilewrightTargets
  RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT tools
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT tools NAMELINK_COMPONENT dev)
install(TARGETS ${development_tools} EXPORT TilewrightTargets RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT dev)
set_target_properties(tilewright-loadable-targets PROPERTIES
  INSTALL_RPATH "$ORIGIN/..;${LLVM_LIBRARY_DIRS}")
install(TARGETS tilewright-loadable-targets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/tilewright COMPONENT tools)
install(TARGETS tw-launch tilewright-runtime-static tilewright-runtime-shared EXPORT TilewrightTargets
  RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT runtime
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT dev
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT runtime NAMELINK_COMPONENT dev)
install(DIRECTORY core/include/tilewright DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT dev
  FILES_MATCHING PATTERN "*.h" PATTERN "*.def")
install(DIRECTORY dialects/Chip dialects/Tile ${CMAKE_CURRENT_BINARY_DIR}/dialects/Tile
  DESTINATION ${TILEWRIGHT_INSTALL_TDDIR}/dialects COMPONENT dev
  FILES_MATCHING PATTERN "*.td" PATTERN "*.h" PATTERN "*.h.inc" PATTERN "CMakeFiles" EXCLUDE)
install(DIRECTORY templates cmake/lit DESTINATION ${TILEWRIGHT_INSTALL_DATADIR} COMPONENT dev
  PATTERN "*.sh" PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE
  PATTERN "__pycache__" EXCLUDE)
# What pages cite as examples/... and scripts/... stands below share/tilewright under the same name.
install(DIRECTORY examples DESTINATION ${TILEWRIGHT_INSTALL_DATADIR} COMPONENT tools
  PATTERN "build" EXCLUDE PATTERN "__pycache__" EXCLUDE
  REGEX "\\.(sh|py)$" PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
install(PROGRAMS scripts/vendor-lines.py DESTINATION ${TILEWRIGHT_INSTALL_DATADIR}/scripts COMPONENT dev)
install(DIRECTORY ${CMAKE_BINARY_DIR}/docs/site/html DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/tilewright COMPONENT doc
  OPTIONAL EXCLUDE_FROM_ALL) # `cmake --install build/release --component doc`
install(EXPORT TilewrightTargets NAMESPACE Tilewright:: DESTINATION ${package_dir} COMPONENT dev)

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
  cmake/TilewrightTarget.cmake cmake/LinkedTargets.cpp.in DESTINATION ${package_dir} COMPONENT dev)
# For C programs without CMake. The prefix is found from the file's own place, so that it may be moved.
configure_file(cmake/tilewright-runtime.pc.in tilewright-runtime.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/tilewright-runtime.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT dev)
# All that the packages have but the documentation (target `docs`).
add_custom_target(packaged DEPENDS Tilewright ${installed_tools} ${development_tools} tilewright-loadable-targets tw-launch
  tilewright-runtime-static tilewright-runtime-shared)
