//! The `trefoil` program: three workloads on one device boundary, on a CPU or an NVIDIA GPU.
#![forbid(unsafe_code)]

mod args;
mod bench;
mod conformance;
mod demo;
mod doctor;
mod exit;
mod files;
mod interrupt;
mod isolate;
mod nn;
mod output;
mod private;
mod profile;
mod queue;
mod report;
mod stark;
mod text;
#[cfg(feature = "cuda")]
mod trials;

use std::process::ExitCode;

use anyhow::Result;
use runtime::{OpenError, SettingsError};

use crate::{
    args::{Cli, Command},
    exit::UsageError,
    files::{NamedFile, refuse_shared},
    profile::Profile,
};

fn main() -> ExitCode {
    let result = run(&Cli::of_process());
    interrupt::wait_if_ending();
    let code = exit::code(result);
    #[cfg(feature = "cuda")]
    if runtime::abandoned() {
        // Work hangs on the device, and the driver would wait for it as this process ends.
        let _gone = std::io::Write::flush(&mut std::io::stdout());
        runtime::exit_at_once(code);
    }
    ExitCode::from(code)
}

/// Runs the command, and records a profile if `--profile` is given.
fn run(cli: &Cli) -> Result<()> {
    let unknown = if cli.command.reads_environment() { runtime::unknown_variables() } else { Vec::new() };
    if let Some(name) = unknown.into_iter().next() {
        return Err(OpenError::from(SettingsError::Unknown { name }).into());
    }
    if let Some(reason) = cli.command.has_no_profile().filter(|_| cli.profile.is_some()) {
        return Err(UsageError(format!("`--profile` shows the ops of one process, and {reason}")).into());
    }
    if cli.profile_device && (cli.profile.is_none() || !cli.command.has_device_times()) {
        let message = "`--profile-device` expects `--profile` and one of `nn` without `nn profile`, `stark prove`, and \
                       `pfss` without `serve` and `bench`";
        return Err(UsageError(message.to_owned()).into());
    }
    let mut files = cli.command.files();
    files.extend(cli.profile.as_deref().map(|path| NamedFile::written("--profile", path)));
    refuse_shared(&files)?;
    let profile = cli.profile.as_deref().map(Profile::begin).transpose()?;
    let result = match &profile {
        Some(profile) if cli.profile_device => profile.with_device_times(|| command(cli)),
        _ => command(cli),
    };
    let Err(error) = profile.map_or(Ok(()), Profile::finish) else { return result };
    if result.is_err() {
        exit::say("error", &error.to_string());
        return result;
    }
    Err(error.into())
}

fn command(cli: &Cli) -> Result<()> {
    match &cli.command {
        Command::Demo(args) => demo::run(args, cli.profile.as_deref()),
        Command::Doctor(args) => doctor::run(args),
        Command::Conformance(args) => conformance::run(args),
        Command::Bench(args) => bench::run(args),
        #[cfg(feature = "cuda")]
        Command::Trials(args) => trials::run(args),
        #[cfg(not(feature = "cuda"))]
        Command::Trials(_) => {
            let (requested, reason) = (runtime::Choice::Sim, runtime::Unavailable::NotBuilt);
            Err(OpenError::Unavailable { requested, reason }.into())
        }
        Command::Pfss(args) => private::run(&args.command),
        Command::Stark(args) => stark::run(&args.command),
        Command::Nn(args) => nn::run(&args.command),
    }
}
