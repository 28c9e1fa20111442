# bin/headgauge, lib/libheadgauge.a, include/headgauge, and the package that find_package reads.
include(CMakePackageConfigHelpers)

install(TARGETS headgauge EXPORT headgaugeTargets
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/headgauge ${PROJECT_BINARY_DIR}/include/headgauge
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.hpp")
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
if(TARGET headgauge_main)
  install(TARGETS headgauge_main RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()

set(package ${CMAKE_INSTALL_LIBDIR}/cmake/headgauge)
configure_package_config_file(
  ${PROJECT_SOURCE_DIR}/cmake/headgaugeConfig.cmake.in
  ${PROJECT_BINARY_DIR}/headgaugeConfig.cmake INSTALL_DESTINATION ${package})
write_basic_package_version_file(
  ${PROJECT_BINARY_DIR}/headgaugeConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(EXPORT headgaugeTargets NAMESPACE headgauge:: DESTINATION ${package})
install(FILES ${PROJECT_BINARY_DIR}/headgaugeConfig.cmake
              ${PROJECT_BINARY_DIR}/headgaugeConfigVersion.cmake DESTINATION ${package})
