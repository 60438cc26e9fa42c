//! How a launch is shaped, scheduled and checked.

/// Shape of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grid {
    /// Blocks in x, y, z.
    pub grid: [u32; 3],
    /// Threads of a block in x, y, z.
    pub block: [u32; 3],
    /// Dynamic shared memory in bytes, in addition to the kernel's declarations.
    pub dynamic_shared: u32,
}

impl Grid {
    /// `blocks` blocks of `threads` threads, without dynamic shared memory.
    pub fn linear(blocks: u32, threads: u32) -> Self {
        Self { grid: [blocks, 1, 1], block: [threads, 1, 1], dynamic_shared: 0 }
    }

    /// Threads of one block.
    pub(super) fn threads(&self) -> u64 {
        self.block.iter().map(|&n| u64::from(n)).product()
    }

    /// Blocks of the grid.
    pub(super) fn blocks(&self) -> u64 {
        self.grid.iter().map(|&n| u64::from(n)).product()
    }
}

/// The order in which warps of a block, and blocks, get their turns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Schedule {
    /// Blocks and warps by index, each until it blocks.
    #[default]
    Natural,
    /// As natural, last index first.
    Reverse,
    /// Random turns of random length.
    Seeded(u64),
}

/// Which checkers run. Bounds, lifetime, alignment and divergence are always checked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Checks {
    /// Reads of undefined bytes in global, shared or local memory.
    ///
    /// They were never written, or an unfinished `cp.async` will write them.
    pub uninitialised: bool,
    /// Unordered accesses of two threads of a block to one place in shared memory.
    pub shared_races: bool,
    /// Unordered accesses of two blocks to one place in global memory.
    ///
    /// Costs memory per place touched.
    pub global_races: bool,
    /// Bytes of global memory that a launch touches.
    ///
    /// They are checked against work of other streams.
    pub streams: bool,
    /// Counters of bank conflicts and coalescing.
    pub traffic: bool,
}

impl Checks {
    /// No optional checker: the fast mode.
    pub const fn none() -> Self {
        Self { uninitialised: false, shared_races: false, global_races: false, streams: false, traffic: false }
    }

    /// Every checker.
    pub const fn sanitize() -> Self {
        Self { uninitialised: true, shared_races: true, global_races: true, streams: true, traffic: true }
    }

    /// Whether accesses have to be observed one at a time, in one order.
    pub(super) const fn any(self) -> bool {
        self.uninitialised || self.shared_races || self.global_races || self.streams || self.traffic
    }
}

/// How a launch is executed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Order of turns.
    pub schedule: Schedule,
    /// Optional checkers.
    pub checks: Checks,
    /// Warp instructions after which a launch counts as hung.
    ///
    /// A 128th of it (but at least 2^24) counts if in that time no thread ends, no barrier is
    /// complete, no block starts and nothing is stored to memory. A launch whose threads all loop
    /// over the same registers, which nothing can change any more, is detected at once.
    pub watchdog: u64,
    /// Most blocks that are resident at once; all of them if `cooperative`.
    pub resident_blocks: u32,
    /// Keeps every block resident, for kernels that wait for other blocks.
    pub cooperative: bool,
    /// Host threads that share the blocks of a launch.
    ///
    /// For launches without optional checkers and with the natural schedule.
    pub threads: usize,
    /// Seed for noise of up to 2 ulp on the approximate functions.
    ///
    /// The noise proves that results do not depend on their exact bits.
    pub perturb_approximations: Option<u64>,
}

impl Default for Options {
    /// Natural order, no optional checker, one host thread, a watchdog of 2^34 warp instructions.
    fn default() -> Self {
        Self {
            schedule: Schedule::Natural,
            checks: Checks::none(),
            watchdog: 1 << 34,
            resident_blocks: 4,
            cooperative: false,
            threads: 1,
            perturb_approximations: None,
        }
    }
}

impl Options {
    /// The defaults with every checker on.
    pub fn sanitize() -> Self {
        Self { checks: Checks::sanitize(), ..Self::default() }
    }
}
