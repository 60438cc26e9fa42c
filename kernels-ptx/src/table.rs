//! What the build needs to know of a kernel and PTX does not say.
//!
//! `kernel_table!` writes one static of bytes into the PTX; `cargo xtask build-ptx` reads it, takes it out again, inserts
//! the launch bounds and writes `kernels.json`.

/// Longest name of a kernel in bytes.
pub const MAX_NAME: usize = 48;

/// One line of a kernel table, 76 bytes, words little-endian.
#[repr(C)]
pub struct KernelRecord {
    /// Name of the entry, padded with zeros.
    pub name: [u8; MAX_NAME],
    /// Threads of a block; also the launch bound.
    pub block: [u32; 3],
    /// Blocks that fit a multiprocessor at once; bounds the registers. Zero states nothing.
    pub min_blocks: u32,
    /// [`Shared::kind`].
    pub shared: u32,
    /// [`Shared::bytes`].
    pub shared_bytes: u32,
    /// Block-wide barriers in the text of the kernel.
    pub barriers: u32,
}

/// Dynamic shared memory of a block.
pub enum Shared {
    /// None.
    None,
    /// This many bytes.
    Bytes(u32),
    /// The launch says how many bytes, at most this many.
    UpTo(u32),
}

impl Shared {
    /// How the record names the variant.
    pub const fn kind(&self) -> u32 {
        match self {
            Self::None => 0,
            Self::Bytes(_) => 1,
            Self::UpTo(_) => 2,
        }
    }

    /// The bytes of the variant.
    pub const fn bytes(&self) -> u32 {
        match self {
            Self::None => 0,
            Self::Bytes(bytes) | Self::UpTo(bytes) => *bytes,
        }
    }
}

/// The bytes of a kernel's name, padded with zeros.
pub const fn padded(name: &str) -> [u8; MAX_NAME] {
    let bytes = name.as_bytes();
    assert!(bytes.len() <= MAX_NAME, "kernel name is too long");
    let mut padded = [0; MAX_NAME];
    let mut i = 0;
    while i < bytes.len() {
        padded[i] = bytes[i];
        i += 1;
    }
    padded
}

/// Declares the kernels of a module, one line each.
///
/// ```text
/// kernel_table! {
///     first: block [256, 1, 1], min_blocks 2, shared Shared::None, barriers 0;
///     second: block [256, 1, 1], min_blocks 2, shared Shared::Bytes(LAYOUT.bytes()), barriers 3;
///     third: block [256, 1, 1], min_blocks 2, shared Shared::UpTo(65_536), barriers 3;
/// }
/// ```
#[macro_export]
macro_rules! kernel_table {
    ($($name:ident: block $block:expr, min_blocks $min_blocks:expr, shared $shared:expr, barriers $barriers:expr;)*) => {
        const NAMES: &[&str] = &[$(stringify!($name)),*];

        /// The kernels of this module, read and removed by the build.
        #[unsafe(no_mangle)]
        pub static KERNEL_TABLE: [$crate::table::KernelRecord; NAMES.len()] = [$({
            const { let _ = $name as *const (); } // the kernel exists
            $crate::table::KernelRecord {
                name: $crate::table::padded(stringify!($name)),
                block: $block,
                min_blocks: $min_blocks,
                shared: $shared.kind(),
                shared_bytes: $shared.bytes(),
                barriers: $barriers,
            }
        }),*];
    };
}
