//! A simulated machine for one test at a time, and kernels written by hand.

use backend_api::{BackendError, Buffer, BufferMut};
use cuda_backend::{Allocator, CudaConfig, CudaMut, CudaQueue, CudaRef, KernelSource, ModuleText, OpenError};
use cuda_sim::driver::{self, Counters, Report, Simulation};
use sha2::{Digest, Sha256};

pub(crate) const PTX: &str = include_str!("test.ptx");

/// A simulated machine. The driver is one for the process, so tests take turns.
pub(crate) struct SimMachine {
    session: Simulation,
    ends_clean: bool,
}

impl SimMachine {
    /// A machine by `spec`, with nothing on it.
    pub(crate) fn new(spec: &str) -> Self {
        Self { session: driver::simulate(spec).unwrap(), ends_clean: false }
    }

    /// As [`SimMachine::new`], with [`SimMachine::assert_clean`] when it is dropped.
    pub(crate) fn clean(spec: &str) -> Self {
        let mut machine = Self::new(spec);
        machine.ends_clean = true;
        machine
    }

    /// Adds a fault; its calls count from here on.
    pub(crate) fn inject(&self, fault: &str) {
        self.session.inject(fault.parse().unwrap());
    }

    /// Removes every fault.
    pub(crate) fn clear_faults(&self) {
        self.session.clear_faults();
    }

    pub(crate) fn counters(&self) -> Counters {
        self.session.counters()
    }

    /// The driver's findings besides result codes.
    pub(crate) fn reports(&self) -> Vec<Report> {
        self.session.reports()
    }

    /// Asserts that the driver noticed nothing wrong.
    pub(crate) fn assert_clean(&self) {
        assert_eq!(self.reports(), []);
        assert_eq!(self.counters().calls_after_sticky, Vec::<&str>::new());
        assert_eq!(self.counters().legacy_operations, 0);
    }
}

impl Drop for SimMachine {
    fn drop(&mut self) {
        if self.ends_clean && !std::thread::panicking() {
            self.assert_clean();
        }
    }
}

/// A manifest whose hash fits `ptx`.
pub(crate) fn manifest_for(ptx: &str) -> String {
    let sha256: String = Sha256::digest(ptx).iter().map(|byte| format!("{byte:02x}")).collect();
    include_str!("test.json").replace("SHA256", &sha256)
}

pub(crate) fn manifest() -> String {
    manifest_for(PTX)
}

pub(crate) fn kernels() -> KernelSource {
    KernelSource::Texts(vec![ModuleText { name: "test".into(), ptx: PTX.into(), manifest: manifest().into() }])
}

pub(crate) fn config(allocator: Allocator) -> CudaConfig {
    CudaConfig { budget_bytes: Some(64 << 20), kernels: kernels(), allocator, ..CudaConfig::default() }
}

pub(crate) fn open(allocator: Allocator) -> Result<CudaQueue, OpenError> {
    CudaQueue::open(config(allocator))
}

/// Both sources of device memory.
pub(crate) const POOLS: [Allocator; 2] = [Allocator::StreamOrdered, Allocator::Caching];

/// Runs `test` on a queue of each machine and pool; the driver must notice nothing wrong.
///
/// `test` also gets the machine, and a text that names machine and pool.
pub(crate) fn on_each(specs: &[impl AsRef<str>], pools: &[Allocator], test: impl Fn(&SimMachine, CudaQueue, &str)) {
    for spec in specs {
        for &pool in pools {
            let spec = spec.as_ref();
            let machine = SimMachine::clean(spec);
            test(&machine, open(pool).unwrap(), &format!("{spec}, {pool:?}"));
        }
    }
}

/// `words[i] *= factor`.
pub(crate) fn scale(queue: &CudaQueue, words: &mut CudaMut<'_, u32>, factor: u32) -> Result<(), BackendError> {
    let count = words.len();
    let launch = queue
        .kernel("test_scale")?
        .cover(count)
        .output("words", words)
        .value("count", &(count as u64))
        .value("factor", &factor);
    // SAFETY: the kernel touches the first `count` words, and the view has `count` words.
    unsafe { launch.launch() }
}

/// `sum[i] = a[i] + b[i]`; all have the length of `sum`.
pub(crate) fn add(
    queue: &CudaQueue,
    a: CudaRef<'_, u32>,
    b: CudaRef<'_, u32>,
    sum: &mut CudaMut<'_, u32>,
) -> Result<(), BackendError> {
    let count = sum.len();
    let launch = queue.kernel("test_add")?.cover(count).input("a", a).input("b", b);
    let launch = launch.output("sum", sum).value("count", &(count as u64));
    // SAFETY: the kernel touches the first `count` words of each, and the tests give views of `count` words.
    unsafe { launch.launch() }
}

/// Writes where nothing is.
pub(crate) fn stray(queue: &CudaQueue) -> Result<(), BackendError> {
    let launch = queue.kernel("test_stray")?;
    // SAFETY: the address belongs to nothing, which the driver finds.
    unsafe { launch.launch() }
}

/// A small program that uses most of the backend; `[0, 7, 14, ..]` is its result.
pub(crate) fn program(allocator: Allocator) -> Result<Vec<u32>, OpenError> {
    use backend_api::{Fork, Queue, Record, Register};

    let queue = open(allocator)?;
    let words: Vec<u32> = (0..1000).collect();
    let mut x = queue.upload(&words)?;
    scale(&queue, &mut x.view_mut(), 2)?;
    let branch = queue.fork()?;
    let mut y = branch.zeros::<u32>(words.len())?;
    branch.copy(x.view(), y.view_mut())?;
    scale(&branch, &mut y.view_mut(), 2)?;
    queue.join(&branch)?;
    let mut sum = queue.alloc::<u32>(words.len())?;
    let body = |queue: &CudaQueue, sum: &mut CudaMut<'_, u32>| {
        add(queue, x.view(), y.view(), sum)?;
        let mut sum_before = queue.alloc::<u32>(words.len())?;
        queue.copy(sum.as_ref(), sum_before.view_mut())?;
        scale(queue, &mut sum_before.view_mut(), 0)
    };
    match queue.record(|queue| body(queue, &mut sum.view_mut()))? {
        Some(graph) => queue.replay(&graph)?,
        None => body(&queue, &mut sum.view_mut())?,
    }
    let host = queue.register(words)?;
    let mut one = queue.alloc::<u32>(host.len())?;
    queue.write_registered(&host, 0, one.view_mut())?;
    let mut total = queue.zeros::<u32>(host.len())?;
    add(&queue, sum.view(), one.view(), &mut total.view_mut())?;
    queue.finish()?;
    let mut host = host;
    queue.read_registered(total.view(), &mut host, 0)?;
    assert_eq!(queue.download(&total)?, *host);
    Ok(host.into())
}

/// What [`program`] computes.
pub(crate) fn expected() -> Vec<u32> {
    (0..1000).map(|i| 7 * i).collect()
}
