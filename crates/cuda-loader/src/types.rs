//! Handles and records of the driver API, laid out as C declares them.

use std::ffi::{c_char, c_void};

use crate::results::status::Status;

/// Ordinal of a device.
pub type CUdevice = i32;

/// Address in device memory.
pub type CUdeviceptr = u64;

/// A function that a stream runs on the host.
pub type HostFn = Option<unsafe extern "C" fn(user_data: *mut c_void)>;

/// A host function of the older callback interface, which is told the stream's status.
pub type StreamCallback = Option<unsafe extern "C" fn(stream: CUstream, status: Status, user_data: *mut c_void)>;

/// Dynamic shared bytes that a block of the given number of threads needs.
pub type BlockToSharedFn = Option<unsafe extern "C" fn(block_size: i32) -> usize>;

macro_rules! handles {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[repr(transparent)]
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub struct $name(pub *mut c_void);

        impl $name {
            /// The handle that names nothing.
            pub const NULL: Self = Self(std::ptr::null_mut());

            /// Whether this is [`NULL`](Self::NULL).
            #[must_use]
            pub fn is_null(self) -> bool {
                self.0.is_null()
            }
        }

        impl Default for $name {
            fn default() -> Self {
                Self::NULL
            }
        }

        // SAFETY: a handle is a name that only its library resolves, whichever thread passes it.
        unsafe impl Send for $name {}
        // SAFETY: as above.
        unsafe impl Sync for $name {}
    )*};
}

pub(crate) use handles;

handles! {
    /// A context.
    CUcontext;
    /// A loaded module.
    CUmodule;
    /// A kernel of a module.
    CUfunction;
    /// A stream; null is the legacy default stream.
    CUstream;
    /// An event.
    CUevent;
    /// A graph.
    CUgraph;
    /// A node of a graph.
    CUgraphNode;
    /// An instantiated graph.
    CUgraphExec;
    /// A pool of stream-ordered memory.
    CUmemoryPool;
    /// A linker invocation.
    CUlinkState;
    /// An array (opaque texture layout).
    CUarray;
}

/// Sixteen bytes that name a device for good.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Uuid {
    /// The bytes, most significant first.
    pub bytes: [c_char; 16],
}

/// A kernel launch as a graph node.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct KernelNodeParams {
    /// The kernel.
    pub func: CUfunction,
    /// Blocks along x, y, z.
    pub grid: [u32; 3],
    /// Threads of a block along x, y, z.
    pub block: [u32; 3],
    /// Dynamic shared memory of a block in bytes.
    pub shared_mem_bytes: u32,
    /// One pointer to each argument.
    pub kernel_params: *mut *mut c_void,
    /// Packed arguments instead of `kernel_params`; normally null.
    pub extra: *mut *mut c_void,
}

/// A fill as a graph node.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct MemsetNodeParams {
    /// First byte written.
    pub dst: CUdeviceptr,
    /// Bytes from one row to the next; unused for one row.
    pub pitch: usize,
    /// The value, in the low `element_size` bytes.
    pub value: u32,
    /// 1, 2 or 4.
    pub element_size: u32,
    /// Elements of a row.
    pub width: usize,
    /// Rows.
    pub height: usize,
}

/// A host function as a graph node.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct HostNodeParams {
    /// The function.
    pub function: HostFn,
    /// Its argument.
    pub user_data: *mut c_void,
}

/// A copy of rows; memory kinds are of [`mem_type`](crate::ffi::mem_type).
#[repr(C)]
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs, reason = "each field is documented by the driver API under the same name")]
pub struct Memcpy2D {
    pub src_x_in_bytes: usize,
    pub src_y: usize,
    pub src_memory_type: u32,
    pub src_host: *const c_void,
    pub src_device: CUdeviceptr,
    pub src_array: CUarray,
    pub src_pitch: usize,
    pub dst_x_in_bytes: usize,
    pub dst_y: usize,
    pub dst_memory_type: u32,
    pub dst_host: *mut c_void,
    pub dst_device: CUdeviceptr,
    pub dst_array: CUarray,
    pub dst_pitch: usize,
    pub width_in_bytes: usize,
    pub height: usize,
}

/// A copy of planes of rows; memory kinds are of [`mem_type`](crate::ffi::mem_type).
#[repr(C)]
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs, reason = "each field is documented by the driver API under the same name")]
pub struct Memcpy3D {
    pub src_x_in_bytes: usize,
    pub src_y: usize,
    pub src_z: usize,
    pub src_lod: usize,
    pub src_memory_type: u32,
    pub src_host: *const c_void,
    pub src_device: CUdeviceptr,
    pub src_array: CUarray,
    pub reserved0: *mut c_void,
    pub src_pitch: usize,
    pub src_height: usize,
    pub dst_x_in_bytes: usize,
    pub dst_y: usize,
    pub dst_z: usize,
    pub dst_lod: usize,
    pub dst_memory_type: u32,
    pub dst_host: *mut c_void,
    pub dst_device: CUdeviceptr,
    pub dst_array: CUarray,
    pub reserved1: *mut c_void,
    pub dst_pitch: usize,
    pub dst_height: usize,
    pub width_in_bytes: usize,
    pub height: usize,
    pub depth: usize,
}

/// Where memory lies.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemLocation {
    /// A kind of [`mem_location`](crate::ffi::mem_location).
    pub kind: u32,
    /// Ordinal of the device.
    pub id: i32,
}

/// Who may access memory, and how.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemAccessDesc {
    /// The device that is granted access.
    pub location: MemLocation,
    /// Rights of [`mem_access`](crate::ffi::mem_access).
    pub flags: u32,
}

/// Properties of a memory pool.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct MemPoolProps {
    /// 1: pinned to its location, the only kind.
    pub alloc_type: u32,
    /// Exportable handle kinds; 0 for none.
    pub handle_types: u32,
    /// The device that holds the memory.
    pub location: MemLocation,
    /// Null but on Windows.
    pub win32_security_attributes: *mut c_void,
    /// Zero.
    pub reserved: [u8; 64],
}

impl MemPoolProps {
    /// A pool on device `ordinal` that is not exported.
    #[must_use]
    pub fn on_device(ordinal: CUdevice) -> Self {
        Self {
            alloc_type: 1,
            handle_types: 0,
            location: MemLocation { kind: crate::consts::mem_location::DEVICE, id: ordinal },
            win32_security_attributes: std::ptr::null_mut(),
            reserved: [0; 64],
        }
    }
}

/// An allocation as a graph node.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct MemAllocNodeParams {
    /// Where to allocate.
    pub pool_props: MemPoolProps,
    /// Further devices with access.
    pub access_descs: *const MemAccessDesc,
    /// Entries at `access_descs`.
    pub access_desc_count: usize,
    /// Bytes to allocate.
    pub bytesize: usize,
    /// The address, written by the driver.
    pub dptr: CUdeviceptr,
}
