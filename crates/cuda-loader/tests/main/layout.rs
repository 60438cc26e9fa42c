//! Records of the driver API are laid out as the bindings that were generated from its header.

use std::mem::{align_of, offset_of, size_of};

use cuda_loader::ffi;
use cust::sys;

macro_rules! same_layout {
    ($ours:ty, $theirs:ty { $($our:ident = $their:ident),* $(,)? }) => {
        assert_eq!(size_of::<$ours>(), size_of::<$theirs>());
        assert_eq!(align_of::<$ours>(), align_of::<$theirs>());
        $(assert_eq!(offset_of!($ours, $our), offset_of!($theirs, $their), stringify!($our));)*
    };
}

#[test]
fn records_have_the_layout_of_the_header() {
    same_layout!(ffi::Uuid, sys::CUuuid { bytes = bytes });
    same_layout!(ffi::KernelNodeParams, sys::CUDA_KERNEL_NODE_PARAMS {
        func = func, grid = gridDimX, block = blockDimX, shared_mem_bytes = sharedMemBytes,
        kernel_params = kernelParams, extra = extra,
    });
    same_layout!(ffi::MemsetNodeParams, sys::CUDA_MEMSET_NODE_PARAMS {
        dst = dst, pitch = pitch, value = value, element_size = elementSize, width = width, height = height,
    });
    same_layout!(ffi::HostNodeParams, sys::CUDA_HOST_NODE_PARAMS { function = fn_, user_data = userData });
    same_layout!(ffi::Memcpy2D, sys::CUDA_MEMCPY2D {
        src_x_in_bytes = srcXInBytes, src_y = srcY, src_memory_type = srcMemoryType, src_host = srcHost,
        src_device = srcDevice, src_array = srcArray, src_pitch = srcPitch, dst_x_in_bytes = dstXInBytes,
        dst_y = dstY, dst_memory_type = dstMemoryType, dst_host = dstHost, dst_device = dstDevice,
        dst_array = dstArray, dst_pitch = dstPitch, width_in_bytes = WidthInBytes, height = Height,
    });
    same_layout!(ffi::Memcpy3D, sys::CUDA_MEMCPY3D {
        src_lod = srcLOD, src_host = srcHost, src_device = srcDevice, src_array = srcArray, src_pitch = srcPitch,
        src_height = srcHeight, dst_x_in_bytes = dstXInBytes, dst_lod = dstLOD, dst_memory_type = dstMemoryType,
        dst_device = dstDevice, dst_pitch = dstPitch, dst_height = dstHeight, width_in_bytes = WidthInBytes,
        depth = Depth,
    });
    same_layout!(ffi::MemLocation, sys::CUmemLocation { kind = type_, id = id });
    same_layout!(ffi::MemAccessDesc, sys::CUmemAccessDesc { location = location, flags = flags });
    same_layout!(ffi::MemPoolProps, sys::CUmemPoolProps {
        alloc_type = allocType, handle_types = handleTypes, location = location, reserved = reserved,
    });
    same_layout!(ffi::MemAllocNodeParams, sys::CUDA_MEM_ALLOC_NODE_PARAMS {
        pool_props = poolProps, access_descs = accessDescs, access_desc_count = accessDescCount,
        bytesize = bytesize, dptr = dptr,
    });
}

#[test]
fn values_are_those_of_the_header() {
    use sys::{CUdevice_attribute as D, CUfunction_attribute as F, CUjit_option as J, CUpointer_attribute as P};
    for (ours, theirs) in [
        (ffi::device::MAX_THREADS_PER_BLOCK, D::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK as u32),
        (ffi::device::MULTIPROCESSOR_COUNT, D::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT as u32),
        (ffi::device::COMPUTE_CAPABILITY_MAJOR, D::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR as u32),
        (
            ffi::device::MAX_SHARED_MEMORY_PER_BLOCK_OPTIN,
            D::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN as u32,
        ),
        (ffi::device::MEMORY_POOLS_SUPPORTED, D::CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED as u32),
        (ffi::device::PCI_DOMAIN_ID, D::CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID as u32),
        (ffi::device::L2_CACHE_SIZE, D::CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE as u32),
        (ffi::function::NUM_REGS, F::CU_FUNC_ATTRIBUTE_NUM_REGS as u32),
        (ffi::function::MAX_DYNAMIC_SHARED_SIZE_BYTES, F::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES as u32),
        (ffi::jit::ERROR_LOG_BUFFER, J::CU_JIT_ERROR_LOG_BUFFER as u32),
        (ffi::jit::INFO_LOG_BUFFER_SIZE_BYTES, J::CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES as u32),
        (ffi::pointer::RANGE_START_ADDR, P::CU_POINTER_ATTRIBUTE_RANGE_START_ADDR as u32),
    ] {
        assert_eq!(ours, theirs);
    }
}
