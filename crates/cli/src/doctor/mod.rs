//! `trefoil doctor`: facts about this machine and the choices that follow from them.

#[cfg(feature = "cuda")]
mod device;
#[cfg(not(feature = "cuda"))]
#[path = "without_cuda.rs"]
mod device;

use std::io::{self, Write as _};

use anyhow::{Result, bail};
use backend_api::Queue as _;
use cpu_backend::SimdLevel;
use runtime::{Settings, VARIABLES};
use serde::Serialize;

use crate::args::DoctorArgs;

#[derive(Serialize)]
struct MachineFacts {
    version: &'static str,
    architecture: &'static str,
    cores: usize,
    features: Vec<Feature>,
    simd_levels: Vec<Feature>,
    backends: Vec<Backend>,
    #[serde(flatten)]
    device: device::DeviceFacts,
    active: Active,
    variables: Vec<VariableFact>,
    /// Set ones that nothing reads, probably misspelt.
    unknown_variables: Vec<String>,
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

#[derive(Default, Serialize)]
struct Active {
    status: String,
    device: String,
    path: String,
    threads: usize,
    memory_limit_bytes: Option<u64>,
    /// Free bytes of the device.
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
    // The variables are shown even if one of them is invalid: a reader needs them most then.
    let opened = runtime::open();
    let active = match &opened {
        Ok((queue, status)) => Active {
            status: status.to_string(),
            device: queue.caps().device.clone(),
            path: queue.caps().path.clone(),
            threads: queue.caps().threads,
            memory_limit_bytes: Some(queue.budget().limit_bytes()).filter(|&limit| limit != u64::MAX),
            device_free_bytes: device::free_bytes(queue)?,
        },
        Err(error) => Active { status: format!("none: {error}"), ..Active::default() },
    };
    let settings = Settings::from_env().unwrap_or_default();
    let opened_queue = opened.as_ref().ok().map(|(queue, _)| queue);
    let device = device::DeviceFacts::find(&settings, opened_queue.filter(|_| args.kernels))?;
    let wrong = device.wrong();
    let facts = MachineFacts {
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
        device,
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

fn print(out: &mut impl io::Write, facts: &MachineFacts) -> io::Result<()> {
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
    facts.device.print(out)?;
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
