//! Declarations of the kernel build about each kernel.
//!
//! The lints check the text against them.

/// Declarations of the kernel build about the kernels of a module.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Table {
    /// One entry per kernel.
    pub kernels: Vec<KernelSpec>,
}

/// Declarations of the kernel build about one kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelSpec {
    /// Name of the entry.
    pub name: String,
    /// Threads of a block along x, y, z.
    pub block: [u32; 3],
    /// Blocks that one multiprocessor must be able to hold; 0 states nothing.
    pub min_blocks: u32,
    /// Block-wide barriers in the text of the kernel: `bar` and `barrier`, not `bar.warp`.
    pub barriers: u32,
}

impl Table {
    /// The entry of the kernel `name`.
    #[must_use]
    pub fn kernel(&self, name: &str) -> Option<&KernelSpec> {
        self.kernels.iter().find(|kernel| kernel.name == name)
    }
}
