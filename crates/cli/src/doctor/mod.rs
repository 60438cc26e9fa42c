//! `trefoil doctor`: facts about this machine and the choices that follow from them.

mod kernels;
mod links;
mod nccl;

use std::io::{self, Write as _};

use anyhow::{Result, bail};
use backend_api::Queue as _;
use cpu_backend::SimdLevel;
use runtime::{AnyQueue, ModuleInfo, Settings, VARIABLES};
use serde::Serialize;

use crate::args::DoctorArgs;

#[derive(Serialize)]
struct Facts {
    version: &'static str,
    architecture: &'static str,
    cores: usize,
    features: Vec<Feature>,
    simd_levels: Vec<Feature>,
    backends: Vec<Backend>,
    cuda: Cuda,
    links: links::Links,
    nccl: nccl::Nccl,
    kernels: Modules,
    #[serde(skip_serializing_if = "Option::is_none")]
    compiled: Option<kernels::Compiled>,
    active: Active,
    variables: Vec<VariableFact>,
    /// Set ones that nothing reads, probably misspelt.
    unknown_variables: Vec<String>,
}

/// The CUDA driver and what it shows, or the reason why there is none.
#[derive(Serialize)]
struct Cuda {
    reason: Option<String>,
    simulated: bool,
    driver: Option<String>,
    missing_functions: Vec<String>,
    devices: Vec<GpuFact>,
}

/// The modules of kernels, or why they cannot be used.
#[derive(Serialize)]
struct Modules {
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

#[derive(Serialize)]
struct Feature {
    name: &'static str,
    present: bool,
}

#[derive(Serialize)]
struct Backend {
    name: &'static str,
    available: bool,
    reason: String,
}

#[derive(Serialize)]
struct Active {
    status: String,
    device: String,
    path: String,
    threads: usize,
    memory_limit_bytes: Option<u64>,
    /// Bytes of the device that nobody holds.
    device_free_bytes: Option<u64>,
}

#[derive(Serialize)]
struct VariableFact {
    name: &'static str,
    value: Option<String>,
    help: &'static str,
}

/// Runs the command.
pub(crate) fn run(args: &DoctorArgs) -> Result<()> {
    let variables = VARIABLES.map(|v| VariableFact { name: v.name, value: runtime::value_of(v), help: v.help });
    // The variables are shown even if one of them cannot be used: that is what a reader came for.
    let opened = runtime::open();
    let active = match &opened {
        Ok((queue, status)) => Active {
            status: status.to_string(),
            device: queue.caps().device.clone(),
            path: queue.caps().path.clone(),
            threads: queue.caps().threads,
            memory_limit_bytes: Some(queue.budget().limit_bytes()).filter(|&limit| limit != u64::MAX),
            device_free_bytes: match queue {
                AnyQueue::Cuda(queue) => Some(runtime::cuda_memory(queue)?.free_bytes),
                _ => None,
            },
        },
        Err(error) => Active {
            status: format!("none: {error}"),
            device: String::new(),
            path: String::new(),
            threads: 0,
            memory_limit_bytes: None,
            device_free_bytes: None,
        },
    };
    let settings = Settings::from_env().unwrap_or_default();
    let compiled = match &opened {
        Ok((queue, _)) if args.kernels => {
            let simulated = runtime::cuda_facts(&settings).is_ok_and(|facts| facts.simulated);
            Some(kernels::compile(queue, simulated)?)
        }
        _ => None,
    };
    let wrong = compiled.as_ref().and_then(kernels::Compiled::wrong);
    let facts = Facts {
        version: env!("CARGO_PKG_VERSION"),
        architecture: std::env::consts::ARCH,
        cores: std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
        features: processor_features(),
        simd_levels: SimdLevel::ALL.map(|l| Feature { name: l.name(), present: l.is_available() }).into(),
        backends: runtime::availability(&settings)
            .map(|(choice, state)| Backend {
                name: choice.name(),
                available: state.is_ok(),
                reason: state.err().map_or_else(|| "available".into(), |reason| reason.to_string()),
            })
            .into(),
        cuda: cuda(&settings),
        links: links::Links::find(&settings),
        nccl: nccl::Nccl::find(&settings),
        kernels: modules(&settings),
        compiled,
        active,
        variables: variables.into(),
        unknown_variables: runtime::unknown_variables(),
    };
    let mut out = io::stdout().lock();
    if args.json {
        serde_json::to_writer_pretty(&mut out, &facts)?;
        writeln!(out)?;
    } else {
        print(&mut out, &facts)?;
    }
    opened?;
    match wrong {
        Some(wrong) => bail!(wrong),
        None => Ok(()),
    }
}

fn cuda(settings: &Settings) -> Cuda {
    let facts = match runtime::cuda_facts(settings) {
        Ok(facts) => facts,
        Err(reason) => {
            let reason = Some(reason.to_string());
            return Cuda { reason, simulated: false, driver: None, missing_functions: Vec::new(), devices: Vec::new() };
        }
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

fn modules(settings: &Settings) -> Modules {
    match runtime::cuda_modules(settings) {
        Err(reason) => Modules { reason: Some(reason.to_string()), modules: Vec::new() },
        Ok(modules) => {
            let fact =
                |ModuleInfo { name, target, ptx_version, kernels }| ModuleFact { name, target, ptx_version, kernels };
            Modules { reason: None, modules: modules.into_iter().map(fact).collect() }
        }
    }
}

fn print_modules(out: &mut impl io::Write, modules: &Modules) -> io::Result<()> {
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

fn print(out: &mut impl io::Write, facts: &Facts) -> io::Result<()> {
    let marked = |features: &[Feature]| {
        let mark = |f: &Feature| format!("{}{}", if f.present { '+' } else { '-' }, f.name);
        features.iter().map(mark).collect::<Vec<_>>().join(" ")
    };
    writeln!(out, "trefoil {} on {}, {} cores", facts.version, facts.architecture, facts.cores)?;
    writeln!(out, "\nprocessor   {}", marked(&facts.features))?;
    writeln!(out, "simd        {}", marked(&facts.simd_levels))?;
    writeln!(out, "\nbackends")?;
    for backend in &facts.backends {
        writeln!(out, "  {:<5} {}", backend.name, backend.reason)?;
    }
    print_cuda(out, &facts.cuda)?;
    facts.links.print(out)?;
    facts.nccl.print(out, facts.cuda.simulated)?;
    print_modules(out, &facts.kernels)?;
    if let Some(compiled) = &facts.compiled {
        compiled.print(out)?;
    }
    writeln!(out, "\nactive      {}", facts.active.status)?;
    if facts.active.threads > 0 {
        writeln!(out, "  device    {}", facts.active.device)?;
        writeln!(out, "  path      {}", facts.active.path)?;
        writeln!(out, "  threads   {}", facts.active.threads)?;
        let limit = facts.active.memory_limit_bytes.map_or_else(|| "none".into(), |bytes| format!("{bytes} bytes"));
        let free = facts.active.device_free_bytes.map_or_else(String::new, |bytes| format!(", {bytes} bytes free"));
        writeln!(out, "  memory    limit {limit}{free}")?;
    }
    writeln!(out, "\nenvironment")?;
    for variable in &facts.variables {
        let value = variable.value.as_deref().unwrap_or("(unset)");
        writeln!(out, "  {:<24} {:<10} {}", variable.name, value, variable.help)?;
    }
    for name in &facts.unknown_variables {
        writeln!(out, "  {name:<24} unknown: no variable has this name")?;
    }
    Ok(())
}

#[cfg(target_arch = "x86_64")]
fn processor_features() -> Vec<Feature> {
    macro_rules! detect {
        ($($name:tt)*) => { vec![$(Feature { name: $name, present: is_x86_feature_detected!($name) }),*] };
    }
    detect!("sse4.1" "aes" "avx" "avx2" "fma" "f16c" "bmi2" "vaes" "avx512f" "avx512bw" "avx512dq" "avx512vl")
}

#[cfg(not(target_arch = "x86_64"))]
fn processor_features() -> Vec<Feature> {
    Vec::new()
}
