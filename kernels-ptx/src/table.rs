//! Kernel attributes that the build needs and PTX does not contain.
//!
//! `kernel_table!` writes a static for each kernel into the PTX; `cargo xtask build-ptx` reads
//! them, takes them out again, inserts the launch bounds and writes the manifests.

/// The declaration of a kernel: seven words, little-endian.
#[repr(C)]
pub struct KernelRecord {
    /// Threads of a block; also the launch bound.
    block: [u32; 3],
    /// Blocks that fit a multiprocessor at once; bounds the registers. Zero states nothing.
    min_blocks: u32,
    /// The variant of [`Shared`].
    shared: u32,
    /// Its bytes.
    shared_bytes: u32,
    /// Block-wide barriers in the text of the kernel.
    barriers: u32,
}

impl KernelRecord {
    /// The record of a kernel with these blocks.
    pub const fn new(block: [u32; 3], min_blocks: u32, shared: Shared, barriers: u32) -> Self {
        let (shared, shared_bytes) = match shared {
            Shared::None => (0, 0),
            Shared::Bytes(bytes) => (1, bytes),
            Shared::UpTo(bytes) => (2, bytes),
        };
        Self { block, min_blocks, shared, shared_bytes, barriers }
    }
}

/// Dynamic shared memory of a block.
pub enum Shared {
    /// None.
    None,
    /// This many bytes.
    Bytes(u32),
    /// At most this many bytes; the launch gives the number.
    UpTo(u32),
}

/// Declares kernels.
///
/// Those that differ in nothing else, such as one for each element type, share a line.
///
/// ```text
/// kernel_table! {
///     first_f32, first_f16: block [256, 1, 1], min_blocks 2, shared None, barriers 0;
///     second: block [256, 1, 1], min_blocks 2, shared Bytes(LAYOUT.bytes()), barriers 3;
///     third: block [256, 1, 1], min_blocks 2, shared UpTo(65_536), barriers 3;
/// }
/// ```
#[macro_export]
macro_rules! kernel_table {
    ($(
        $($name:ident),+:
            block $block:expr, min_blocks $min_blocks:expr, shared $shared:expr, barriers $barriers:expr;
    )*) => {$($(
        const _: () = {
            use $crate::table::{KernelRecord, Shared::*};

            let _ = $name as *const (); // the kernel exists

            /// The record of the kernel, read and removed by the build.
            #[unsafe(export_name = concat!("KERNEL_RECORD_", stringify!($name)))]
            pub static RECORD: KernelRecord = KernelRecord::new($block, $min_blocks, $shared, $barriers);
        };
    )+)*};
}
