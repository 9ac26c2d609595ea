# Debian packages of the installed parts (TilewrightInstall.cmake): `scripts/make-packages.sh` builds and checks them.
#   tilewright-runtime, tilewright-tools, tilewright-dev, tilewright-doc
# Dependencies on libraries are what dpkg-shlibdeps reads from the binaries. The same tree gives the same bytes: times come
# from SOURCE_DATE_EPOCH, permissions and owners from here, and the compression has one thread.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME tilewright)
set(CPACK_PACKAGE_VENDOR Tilewright)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS ${CMAKE_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS})
set(CPACK_STRIP_FILES ON)
set(CPACK_THREADS 1)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_ALL runtime tools dev doc)
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_MAINTAINER "Tilewright developers <developers@tilewright.invalid>")
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${CMAKE_BINARY_DIR}/lib)

set(same "(= ${PROJECT_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE})")
set(llvm_dev "libmlir-${LLVM_VERSION_MAJOR}-dev, llvm-${LLVM_VERSION_MAJOR}-dev")

# tilewright_package(COMPONENT SECTION SUMMARY DESCRIPTION): what the control file of tilewright-COMPONENT says.
function(tilewright_package component section summary description)
  string(TOUPPER ${component} upper)
  set(CPACK_DEBIAN_${upper}_PACKAGE_NAME tilewright-${component} PARENT_SCOPE)
  set(CPACK_DEBIAN_${upper}_PACKAGE_SECTION ${section} PARENT_SCOPE)
  set(CPACK_DEBIAN_${upper}_DESCRIPTION "${summary}\n${description}" PARENT_SCOPE)
  install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/tilewright-${component}
    RENAME copyright COMPONENT ${component})
endfunction()
tilewright_package(runtime libs "launches compiled tensor programs"
  "The library in C that loads artifacts of tw-compile and launches them on devices, and the command tw-launch. Both need libc alone.")
tilewright_package(tools devel "compiler of tensor programs for described chips"
  "The commands tw-compile, tw-run, tw-targets and more, the compiler as a library, and example programs.")
tilewright_package(dev libdevel "chip descriptions, headers and CMake functions of Tilewright"
  "What a target of one's own is built with: tw-tblgen, tw-new-target and its templates, the classes of the description language, headers, and packages for CMake and pkg-config.")
tilewright_package(doc doc "pages and reference of Tilewright"
  "The manual, the reference of passes, dialects and chips, and the C and C++ interfaces, as a site that needs no server.")
# CPack leaves out what dpkg-shlibdeps gives no version for.
set(CPACK_DEBIAN_TOOLS_PACKAGE_DEPENDS "libllvm${LLVM_VERSION_MAJOR} (>= 1:${LLVM_VERSION_MAJOR}.${LLVM_VERSION_MINOR})")
set(CPACK_DEBIAN_TOOLS_PACKAGE_RECOMMENDS libomp5-${LLVM_VERSION_MAJOR}) # for programs with --threads
set(CPACK_DEBIAN_TOOLS_PACKAGE_SUGGESTS "tilewright-dev, tilewright-doc")
set(CPACK_DEBIAN_DEV_PACKAGE_DEPENDS "tilewright-tools ${same}, tilewright-runtime ${same}")
# C programs need no C++; targets do.
set(CPACK_DEBIAN_DEV_PACKAGE_RECOMMENDS "cmake, g++ | c++-compiler, ${llvm_dev}, llvm-${LLVM_VERSION_MAJOR}-tools")
set(CPACK_DEBIAN_DOC_PACKAGE_ARCHITECTURE all)
set(CPACK_DEBIAN_DOC_PACKAGE_SHLIBDEPS OFF)
include(CPack)
