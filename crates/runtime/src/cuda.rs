//! The CUDA driver of this process, real or simulated, and its facts.

use std::{fmt::Debug, sync::OnceLock};

use backend_api::{
    BackendError, Buffer, Queue,
    ops::{
        circle::{BatchInverseM31, CircleOps},
        fss::{CmpEvalWindow, CmpGen, CmpKeys, FssOps},
        linalg::{Axpby, ElementwiseOps},
    },
};
use core_types::{
    AesKey, Label,
    cmp::cmp_levels,
    field::M31,
    params::fss::{CmpGenParams, CmpWindowParams, padded},
};
use cuda_backend::{
    Allocator, CudaConfig, CudaQueue, DeviceInfo, DriverInfo, KernelSource, Link, MemoryUsage, ModuleInfo, ModuleText,
    NcclInfo,
};
use cuda_loader::{Origin, Source, nccl};
use cuda_sim::driver;

use crate::{Choice, CudaLibrary, Domain, NcclLibrary, OpenError, Settings, Unavailable};

/// Facts on CUDA on this machine, for `doctor`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CudaFacts {
    /// The driver.
    pub driver: DriverInfo,
    /// Whether it is the simulated one.
    pub simulated: bool,
    /// The devices that it shows, usable or not.
    pub devices: Vec<DeviceInfo>,
}

/// Facts on the driver that `settings` name.
///
/// The driver of a process is chosen once, by the first caller.
///
/// # Errors
/// The reason there is no driver, or the driver's error.
pub fn cuda_facts(settings: &Settings) -> Result<CudaFacts, Unavailable> {
    match choose_driver(settings, Choice::Gpu) {
        Ok(()) | Err(Unavailable::OnlySimulated) => {}
        Err(reason) => return Err(reason),
    }
    let gpu = |source| Unavailable::Gpu(Box::new(source));
    let driver = cuda_backend::driver().map_err(gpu)?;
    let devices = cuda_backend::devices().map_err(gpu)?;
    Ok(CudaFacts { driver, simulated: is_simulated(), devices })
}

/// Facts on the NCCL that `settings` name.
///
/// The NCCL of a process is chosen once, by the first caller. With the simulated driver it is the
/// simulated NCCL.
///
/// # Errors
/// The reason there is none.
pub fn nccl_facts(settings: &Settings) -> Result<NcclInfo, nccl::Unavailable> {
    // A simulated driver installs its own NCCL; in every other case a library is found or not.
    match choose_driver(settings, Choice::Gpu) {
        Ok(()) | Err(_) => open_nccl(settings)?,
    }
    cuda_backend::nccl()
}

/// Makes the NCCL that `settings` name the NCCL of this process.
pub(crate) fn open_nccl(settings: &Settings) -> Result<(), nccl::Unavailable> {
    let source = settings.nccl_library.as_ref().map_or(Source::Platform, |library| match library {
        NcclLibrary::Path(path) => Source::Path(path.clone()),
        NcclLibrary::None => Source::None,
    });
    nccl::open(&source).map(drop)
}

/// The modules of kernels that `settings` name, whether there is a device for them or not.
///
/// # Errors
/// Why one of them cannot be used.
pub fn cuda_modules(settings: &Settings) -> Result<Vec<ModuleInfo>, Unavailable> {
    let gpu = |source: cuda_backend::ModuleError| Unavailable::Gpu(Box::new(source.into()));
    cuda_backend::modules(&kernel_source(settings)).map_err(gpu)
}

/// The links between all usable devices of the driver named by `settings`.
///
/// They are measured, except on the simulated driver, whose times mean nothing. All these devices
/// are opened. With fewer than two devices, there are no links.
///
/// # Errors
/// The reason there is no driver, or the driver's error.
pub fn cuda_links(settings: &Settings) -> Result<Vec<Link>, Unavailable> {
    let facts = cuda_facts(settings)?;
    let choice = if facts.simulated { Choice::Sim } else { Choice::Gpu };
    let usable: Vec<_> = facts.devices.iter().filter(|device| device.is_usable()).collect();
    if usable.len() < 2 {
        return Ok(Vec::new());
    }
    let open = |device: &DeviceInfo| {
        let settings = Settings { cuda_device: device.ordinal, mem_limit_bytes: None, ..settings.clone() };
        open_with_kernels(&settings, choice, KernelSource::Texts(Vec::new()))
    };
    let queues = usable.into_iter().map(open).collect::<Result<Vec<_>, _>>()?;
    let found = if facts.simulated { cuda_backend::links(&queues) } else { cuda_backend::measured_links(&queues) };
    found.map_err(|source| Unavailable::Gpu(Box::new(source.into())))
}

/// Opens a device with the caller's kernels in place of the kernels of the ops.
///
/// The device is the simulated one if `choice` is [`Choice::Sim`], and the GPU otherwise.
///
/// # Errors
/// [`OpenError::Unavailable`] with the reason.
pub fn cuda_queue(settings: &Settings, choice: Choice, kernels: Vec<ModuleText>) -> Result<CudaQueue, OpenError> {
    let requested = if choice == Choice::Sim { Choice::Sim } else { Choice::Gpu };
    let opened = open_with_kernels(settings, requested, KernelSource::Texts(kernels));
    opened.map_err(|reason| OpenError::Unavailable { requested, reason })
}

fn kernel_source(settings: &Settings) -> KernelSource {
    settings.ptx_dir.clone().map_or(KernelSource::Embedded, KernelSource::Folder)
}

/// The memory usage of an opened device.
///
/// # Errors
/// The driver's error.
pub fn cuda_memory(queue: &CudaQueue) -> Result<MemoryUsage, BackendError> {
    queue.device().memory()
}

/// Why the last recording on the queue's device gave no graph.
///
/// Its ops ran one by one. `None` if every recording gave a graph.
#[must_use]
pub fn refused_recording(queue: &CudaQueue) -> Option<String> {
    queue.device().refused_recording()
}

/// Findings of the simulated driver that no result code shows. Empty on any other driver.
///
/// They are unordered accesses, and resources that a queue still held when it was dropped.
#[must_use]
pub fn simulator_reports() -> Vec<String> {
    driver::reports().iter().map(ToString::to_string).collect()
}

/// Opens a device of the driver that `choice` means, and tests it for `domain`.
///
/// The test makes sure that the device computes correctly. `None` stands for no domain in
/// particular. Kernel modules are compiled when they are first used. If the caller can fall back to
/// another backend (`stand_in`), all modules of the domain are compiled here, since the device may
/// be unable to run one of them.
pub(crate) fn open(
    settings: &Settings,
    choice: Choice,
    domain: Option<Domain>,
    stand_in: bool,
) -> Result<CudaQueue, Unavailable> {
    let queue = open_with_kernels(settings, choice, kernel_source(settings))?;
    if stand_in {
        let gpu = |source| Unavailable::Gpu(Box::new(source));
        for op_set in domain.map_or(&[""][..], op_sets) {
            for module in queue.compile(op_set).map_err(|source| gpu(source.into()))? {
                module.outcome.map_err(|source| gpu(source.into()))?;
            }
        }
    }
    for tested in DOMAINS.into_iter().filter(|&tested| domain == Some(tested) || (domain.is_none() && stand_in)) {
        self_test(&queue, tested)?;
    }
    Ok(queue)
}

/// Opens a device of the driver that `choice` means, with these kernels.
fn open_with_kernels(settings: &Settings, choice: Choice, kernels: KernelSource) -> Result<CudaQueue, Unavailable> {
    choose_driver(settings, choice)?;
    let opened = CudaQueue::open(CudaConfig {
        device: settings.cuda_device,
        budget_bytes: settings.mem_limit_bytes,
        kernels,
        // The simulated driver has pools too, but our own allocator is to be exercised somewhere.
        allocator: if choice == Choice::Sim { Allocator::Caching } else { Allocator::Auto },
        aes: settings.gpu_aes.unwrap_or_default(),
        air: settings.gpu_air.unwrap_or_default(),
        pinned_bytes: settings.gpu_pinned_bytes,
        timeout: settings.gpu_timeout,
    });
    opened.map_err(|source| Unavailable::Gpu(Box::new(source)))
}

/// Makes the driver that `choice` means the driver of this process.
fn choose_driver(settings: &Settings, choice: Choice) -> Result<(), Unavailable> {
    if choice == Choice::Sim || settings.cuda_library == CudaLibrary::Simulated {
        // Once: a second machine would take the place of the first and all that is on it.
        static INSTALLED: OnceLock<Result<(), Unavailable>> = OnceLock::new();
        let install = || driver::install(settings.simulated.clone().unwrap_or_default());
        return INSTALLED.get_or_init(|| install().map_err(|reason| Unavailable::Simulator(Box::new(reason)))).clone();
    }
    let source = match &settings.cuda_library {
        CudaLibrary::Path(path) => Source::Path(path.clone()),
        CudaLibrary::None => Source::None,
        CudaLibrary::Platform | CudaLibrary::Simulated => Source::Platform,
    };
    cuda_loader::open(&source).map_err(|reason| Unavailable::Gpu(Box::new(reason.into())))?;
    if is_simulated() { Err(Unavailable::OnlySimulated) } else { Ok(()) }
}

fn is_simulated() -> bool {
    cuda_loader::available().is_ok_and(|driver| *driver.origin() == Origin::Installed)
}

const DOMAINS: [Domain; 3] = [Domain::Pfss, Domain::Stark, Domain::Nn];

/// The op sets of a domain, of kernels; the names of their modules begin with them.
const fn op_sets(domain: Domain) -> &'static [&'static str] {
    match domain {
        Domain::Pfss => &["fss"],
        Domain::Stark => &["circle", "air", "channel", "deep", "merkle", "open"],
        Domain::Nn => &["correction", "factor", "linalg", "optim", "recurrent", "tensor"],
    }
}

/// Launches a kernel of `domain` on known values.
///
/// A device that computes wrongly is found before it is used.
fn self_test(queue: &CudaQueue, domain: Domain) -> Result<(), Unavailable> {
    match domain {
        Domain::Pfss => computes("cmp_eval_window", &KNOWN_SHARES, || known_shares(queue)),
        // 2 * 2^30 = 1 modulo 2^31 - 1.
        Domain::Stark => computes("batch_inverse_m31", &[M31::from_u32(1 << 30)], || {
            let (elements, mut inverses) = (queue.upload(&[M31::from_u32(2)])?, queue.zeros::<M31>(1)?);
            let mut first_zero = queue.upload(&[u64::MAX])?;
            queue.batch_inverse_m31(BatchInverseM31 {
                elements: elements.view(),
                inverses: inverses.view_mut(),
                first_zero: first_zero.view_mut(),
            })?;
            queue.download(&inverses)
        }),
        Domain::Nn => computes("axpby", &[9.0f32], || {
            let (x, mut y) = (queue.upload(&[1.5f32])?, queue.upload(&[2.0f32])?);
            queue.axpby(Axpby { alpha: 2.0, x: x.view(), beta: 3.0, y: y.view_mut() })?;
            queue.download(&y)
        }),
    }
}

/// Shares of party 0 at the points 0 to 31 of a comparison key of 10 bits.
///
/// The key has α = 0x155, the AES key 00 01 .. 0f and the roots 10 11 .. 1f and 20 21 .. 2f. The
/// reference implementation in Python computed the shares.
const KNOWN_SHARES: [u32; 32] = {
    let (mut shares, mut point) = ([0; 32], 0);
    while point < 32 {
        shares[point] = 0xfff3_f4a5 >> point & 1;
        point += 1;
    }
    shares
};

/// Makes the key of [`KNOWN_SHARES`] and evaluates it.
fn known_shares(queue: &CudaQueue) -> Result<Vec<u32>, BackendError> {
    const ROW: usize = padded(1);
    let run = |from: u8| core::array::from_fn(|i| from + i as u8);
    let (key, bits, count, points) = (AesKey::new(run(0)), 10, 1, 32);
    let mut roots = [Label::new(0); 2 * ROW];
    roots[0] = Label::new(u128::from_le_bytes(run(0x10)));
    roots[ROW] = Label::new(u128::from_le_bytes(run(0x20)));
    let (alphas, roots) = (queue.upload(&[0x155])?, queue.upload(&roots)?);
    let mut corrections = queue.alloc(cmp_levels(bits) as usize * ROW)?;
    let mut leaves = queue.alloc(2 * ROW)?;
    queue.cmp_gen(CmpGen {
        params: &CmpGenParams { key, bits, count, reserved: [0; 2] },
        alphas: alphas.view(),
        roots: roots.view(),
        corrections: corrections.view_mut(),
        leaves: leaves.view_mut(),
    })?;
    let offsets: Vec<u64> = (0..u64::from(points)).map(u64::wrapping_neg).collect();
    let (x_hat, offsets) = (queue.upload(&[0])?, queue.upload(&offsets)?);
    let mut shares = queue.alloc(points as usize)?;
    queue.cmp_eval_window(CmpEvalWindow {
        params: &CmpWindowParams { key, bits, party: 0, count, points, window: bits, reserved: [0; 3] },
        keys: CmpKeys { roots: roots.slice(0..ROW)?, corrections: corrections.view(), leaves: leaves.view() },
        x_hat: x_hat.view(),
        offsets: offsets.view(),
        shares: shares.view_mut(),
    })?;
    queue.download(&shares)
}

/// Makes sure that `op`, by `run`, gives what was `expected`.
fn computes<T: PartialEq + Debug>(
    op: &'static str,
    expected: &[T],
    run: impl FnOnce() -> Result<Vec<T>, BackendError>,
) -> Result<(), Unavailable> {
    let got = run().map_err(|source| Unavailable::Gpu(Box::new(source.into())))?;
    if got == expected {
        return Ok(());
    }
    Err(Unavailable::Miscomputes { op, expected: format!("{expected:?}"), got: format!("{got:?}") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_result_is_named() {
        assert_eq!(computes("axpby", &[9.0], || Ok(vec![9.0])), Ok(()));
        let refused = computes("axpby", &[9.0], || Ok(vec![8.0])).unwrap_err();
        assert_eq!(refused.to_string(), "the self-test of the device failed: op `axpby`: expected [9.0], got [8.0]");
    }
}
