//! Facts about CUDA: driver, devices, links, NCCL and kernels.

mod kernels;
mod links;
mod nccl;

use std::io;

use anyhow::Result;
use backend_api::BackendError;
use runtime::{AnyQueue, ModuleInfo, Settings};
use serde::Serialize;

/// Facts about CUDA on this machine.
#[derive(Serialize)]
pub(super) struct DeviceFacts {
    cuda: Cuda,
    links: links::Links,
    nccl: nccl::Nccl,
    kernels: ModuleSupport,
    #[serde(skip_serializing_if = "Option::is_none")]
    compiled: Option<kernels::CompiledModules>,
}

/// The CUDA driver and its devices, or the reason why there is no driver.
#[derive(Default, Serialize)]
struct Cuda {
    reason: Option<String>,
    simulated: bool,
    driver: Option<String>,
    missing_functions: Vec<String>,
    devices: Vec<GpuFact>,
}

/// The modules of kernels, or why they cannot be used.
#[derive(Serialize)]
struct ModuleSupport {
    reason: Option<String>,
    modules: Vec<ModuleFact>,
}

#[derive(Serialize)]
struct ModuleFact {
    name: String,
    target: String,
    ptx_version: String,
    kernels: usize,
}

#[derive(Serialize)]
struct GpuFact {
    ordinal: u32,
    name: String,
    capability: String,
    memory_bytes: u64,
    multiprocessors: u32,
    memory_pools: bool,
    usable: bool,
}

impl DeviceFacts {
    /// Collects the facts, and compiles every kernel on the device of `compile_on`.
    pub(super) fn find(settings: &Settings, compile_on: Option<&AnyQueue>) -> Result<Self> {
        let cuda = cuda(settings);
        let compiled = compile_on.map(|queue| kernels::compile(queue, cuda.simulated)).transpose()?;
        let (links, nccl) = (links::Links::find(settings), nccl::Nccl::find(settings));
        Ok(Self { cuda, links, nccl, kernels: modules(settings), compiled })
    }

    /// The faults of compiled kernels, in a line; `None` without faults.
    pub(super) fn wrong(&self) -> Option<String> {
        self.compiled.as_ref().and_then(kernels::CompiledModules::wrong)
    }

    pub(super) fn print(&self, out: &mut impl io::Write) -> io::Result<()> {
        print_cuda(out, &self.cuda)?;
        self.links.print(out)?;
        self.nccl.print(out, self.cuda.simulated)?;
        print_modules(out, &self.kernels)?;
        self.compiled.as_ref().map_or(Ok(()), |compiled| compiled.print(out))
    }
}

/// Free bytes of the device of `queue`; `None` on the processor.
pub(super) fn free_bytes(queue: &AnyQueue) -> Result<Option<u64>, BackendError> {
    let AnyQueue::Cuda(queue) = queue else { return Ok(None) };
    Ok(Some(runtime::cuda_memory(queue)?.free_bytes))
}

fn cuda(settings: &Settings) -> Cuda {
    let facts = match runtime::cuda_facts(settings) {
        Ok(facts) => facts,
        Err(reason) => return Cuda { reason: Some(reason.to_string()), ..Cuda::default() },
    };
    let devices = facts.devices.into_iter().map(|device| GpuFact {
        ordinal: device.ordinal,
        usable: device.is_usable(),
        capability: format!("{}.{}", device.capability.0, device.capability.1),
        name: device.name,
        memory_bytes: device.total_bytes,
        multiprocessors: device.multiprocessors,
        memory_pools: device.memory_pools,
    });
    let kind = if facts.simulated { "simulated, " } else { "" };
    Cuda {
        reason: None,
        simulated: facts.simulated,
        driver: Some(format!("CUDA {}, {kind}{}", facts.driver.version, facts.driver.origin)),
        missing_functions: facts.driver.missing,
        devices: devices.collect(),
    }
}

fn modules(settings: &Settings) -> ModuleSupport {
    match runtime::cuda_modules(settings) {
        Err(reason) => ModuleSupport { reason: Some(reason.to_string()), modules: Vec::new() },
        Ok(modules) => {
            let fact =
                |ModuleInfo { name, target, ptx_version, kernels }| ModuleFact { name, target, ptx_version, kernels };
            ModuleSupport { reason: None, modules: modules.into_iter().map(fact).collect() }
        }
    }
}

fn print_modules(out: &mut impl io::Write, modules: &ModuleSupport) -> io::Result<()> {
    writeln!(out, "\nkernels     {}", modules.reason.as_deref().unwrap_or("as built or given, checked"))?;
    for ModuleFact { name, target, ptx_version, kernels } in &modules.modules {
        writeln!(out, "  {name:<18} {kernels} kernels, {target}, PTX {ptx_version}")?;
    }
    Ok(())
}

fn print_cuda(out: &mut impl io::Write, cuda: &Cuda) -> io::Result<()> {
    match (&cuda.driver, &cuda.reason) {
        (Some(driver), _) => writeln!(out, "\ncuda        {driver}")?,
        (None, reason) => writeln!(out, "\ncuda        {}", reason.as_deref().unwrap_or("none"))?,
    }
    for gpu in &cuda.devices {
        let GpuFact { ordinal, name, capability, memory_bytes, multiprocessors, .. } = gpu;
        let pools = if gpu.memory_pools { "memory pools" } else { "no memory pools" };
        let usable = if gpu.usable { "" } else { " (too old: 8.0 is needed)" };
        writeln!(
            out,
            "  device {ordinal}  {name}: capability {capability}{usable}, {memory_bytes} bytes, \
             {multiprocessors} multiprocessors, {pools}"
        )?;
    }
    if !cuda.missing_functions.is_empty() {
        writeln!(out, "  lacks     {}", cuda.missing_functions.join(", "))?;
    }
    Ok(())
}
