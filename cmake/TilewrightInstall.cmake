# What `cmake --install` puts where: commands, libTilewright, public headers, and the package for find_package(Tilewright).
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/Tilewright)
set(installed_tools "")
foreach(tool tw-compile tw-opt tw-run tw-targets tw-launch tw-new-target tw-conformance)
  if(TARGET ${tool})
    list(APPEND installed_tools ${tool})
  endif()
endforeach()
# LLVM's libraries are found where they were at build time, libTilewright beside the commands.
set_target_properties(Tilewright ${installed_tools} PROPERTIES
  INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR};${LLVM_LIBRARY_DIRS}")
set_target_properties(tw-launch PROPERTIES INSTALL_RPATH "") # needs libc alone
set_property(TARGET Tilewright APPEND PROPERTY INTERFACE_INCLUDE_DIRECTORIES
  $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
install(TARGETS Tilewright ${installed_tools} EXPORT TilewrightTargets
  RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS tilewright-runtime-static tilewright-runtime-shared EXPORT TilewrightTargets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY core/include/tilewright DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
install(EXPORT TilewrightTargets NAMESPACE Tilewright:: DESTINATION ${package_dir})
configure_package_config_file(cmake/TilewrightConfig.cmake.in ${CMAKE_CURRENT_BINARY_DIR}/TilewrightConfig.cmake
  INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/TilewrightConfigVersion.cmake
  COMPATIBILITY SameMajorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/TilewrightConfig.cmake
  ${CMAKE_CURRENT_BINARY_DIR}/TilewrightConfigVersion.cmake cmake/TilewrightAddProgram.cmake
  DESTINATION ${package_dir})
