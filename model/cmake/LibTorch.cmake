# LibTorch as imported targets, without TorchConfig.cmake: that one insists on the CUDA toolkit when
# the wheel was built with it, and Heed links only libtorch_cpu and libc10 (CUDA is loaded at run time).
if(NOT EXISTS "${HEED_LIBTORCH_DIR}/include/ATen/ATen.h")
  message(FATAL_ERROR "No LibTorch at HEED_LIBTORCH_DIR=${HEED_LIBTORCH_DIR}: "
          "run deploy/install-deps.sh, or name a folder that has include/ATen/ATen.h and lib/libtorch_cpu.so")
endif()

foreach(lib c10 torch_cpu)
  add_library(heed_${lib} SHARED IMPORTED GLOBAL)
  set_target_properties(heed_${lib} PROPERTIES
    IMPORTED_LOCATION "${HEED_LIBTORCH_DIR}/lib/lib${lib}.so"
    IMPORTED_NO_SONAME TRUE)
endforeach()

add_library(heed_torch INTERFACE)
target_include_directories(heed_torch SYSTEM INTERFACE
  "${HEED_LIBTORCH_DIR}/include" "${HEED_LIBTORCH_DIR}/include/torch/csrc/api/include")
target_link_libraries(heed_torch INTERFACE heed_torch_cpu heed_c10 Threads::Threads)
# The libraries that libtorch_cpu itself needs stand beside it.
target_link_options(heed_torch INTERFACE "-Wl,-rpath-link,${HEED_LIBTORCH_DIR}/lib")
