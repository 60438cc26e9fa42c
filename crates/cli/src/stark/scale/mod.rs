//! `trefoil stark scale`.

mod measure;
mod mirror;
mod model;
mod show;

use std::path::PathBuf;

use anyhow::{Context as _, Result};
use backend_api::Queue as _;
use clap::Args;
use runtime::{Choice, Domain};

use self::{
    measure::Measuring,
    model::{DeviceLink, ScalingModel},
};
use super::{
    check::check,
    options::{config::ConfigArgs, known::AirArgs, number::whole, residency::ResidencyArgs},
    plan::planned,
};
use crate::{
    exit::{UsageError, note},
    files::NamedFile,
    output::{OutputFile, print},
    queue::open,
};

/// Model the time of a proof on several devices from a measurement on one.
///
/// The model takes the measured time and the counted bytes of one device that works as a rank.
///
/// The work of a rank runs here, on one device, with mirrors of it in the place of the others. It
/// is what each device of a group does: its share of the columns and blocks, and all work that
/// ranks do not share. The time of a modelled proof is this time plus the transfer time of the
/// bytes on a link. Nothing is measured on several devices, and nothing overlaps.
#[derive(Args, Debug)]
pub(crate) struct ScaleArgs {
    #[command(flatten)]
    air: AirArgs,
    #[command(flatten)]
    config: ConfigArgs,
    /// Numbers of devices, powers of two of 1..=64; one is always among them.
    #[arg(long, value_name = "N,N", value_delimiter = ',', default_values_t = [1, 2, 4, 8], value_parser = whole(1..=64))]
    devices: Vec<u32>,
    /// A link between devices and its speed in GB/s; can be repeated.
    ///
    /// The speed is the rate at which each device sends on it, to all others together, while it
    /// receives the same.
    #[arg(long = "link", value_name = "NAME=GB/S", default_values = ["NVLink=450", "PCIe 5=55"], value_parser = link)]
    links: Vec<DeviceLink>,
    /// Measure 2^LOG rows and scale the time up [default: --log-rows].
    ///
    /// For a proof that is too large for this machine.
    #[arg(long, value_name = "LOG", value_parser = whole(1..=28))]
    measured_log_rows: Option<u32>,
    /// Speed of the modelled devices, relative to the one measured here.
    #[arg(long, value_name = "TIMES", default_value_t = 1.0, value_parser = positive)]
    faster: f64,
    /// Microseconds that each exchange takes in addition to the transfer of its bytes.
    #[arg(long, value_name = "US", default_value_t = 0.0, value_parser = not_negative)]
    latency_us: f64,
    /// Proofs to time for each number of devices, 1..=1000.
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = whole(1..=1000))]
    rounds: u32,
    /// Backend to measure: cpu, gpu (= cuda), auto or sim [default: TREFOIL_BACKEND, or cpu].
    #[arg(long, value_name = "NAME")]
    backend: Option<Choice>,
    /// Write the tables and a picture as an HTML page.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
}

impl ScaleArgs {
    /// The files that it names.
    pub(super) fn files(&self) -> Vec<NamedFile<'_>> {
        self.html.as_deref().map(|path| NamedFile::written("--html", path)).into_iter().collect()
    }
}

/// Reads a finite number above zero.
fn positive(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|number: &f64| number.is_finite() && *number > 0.0);
    number.ok_or_else(|| "expected a number above 0".to_owned())
}

/// Reads a finite number, zero or more.
fn not_negative(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|number: &f64| number.is_finite() && *number >= 0.0);
    number.ok_or_else(|| "expected a number of 0 or more".to_owned())
}

/// Reads a link: its name and its rate.
fn link(text: &str) -> Result<DeviceLink, String> {
    let named = text.rsplit_once('=').filter(|(name, _)| !name.trim().is_empty());
    let read =
        named.and_then(|(name, rate)| Some(DeviceLink { name: name.to_owned(), rate: positive(rate).ok()? * 1e9 }));
    read.ok_or_else(|| "expected a name and a number of GB/s above 0, as in `NVLink=450`".to_owned())
}

/// Runs the command.
pub(crate) fn run(args: &ScaleArgs) -> Result<()> {
    let (outline, config) = (args.air.outline()?, args.config.config());
    check(&outline, config)?;
    let mut measured = args.air.clone();
    measured.log_rows = args.measured_log_rows.unwrap_or(measured.log_rows);
    let Some(log_more_rows) = args.air.log_rows.checked_sub(measured.log_rows) else {
        return Err(UsageError("expected `--measured-log-rows` of at most `--log-rows`".to_owned()).into());
    };
    let measured_outline = measured.outline()?;
    check(&measured_outline, config)?;
    let mut ranks = args.devices.clone();
    ranks.push(1);
    ranks.sort_unstable();
    ranks.dedup();
    for &ranks in &ranks {
        planned(&measured_outline, config, ResidencyArgs::default(), ranks as usize, "`--devices`")?;
    }
    let html = args.html.as_deref().map(OutputFile::begin_public).transpose()?;
    let tell = if html.as_ref().is_some_and(OutputFile::is_stdout) { note } else { print };

    let q = open(Domain::Stark, args.backend)?;
    let (statement, trace) = measured.make(q.budget()).context("making the trace")?;
    let measuring = Measuring { q: &q, config, trace: &trace, ranks: &ranks, rounds: args.rounds, log_more_rows };
    let works = measuring.run(&statement.build()?)?;
    let model = ScalingModel { faster: args.faster, latency: args.latency_us / 1e6 };
    let shown = show::Shown { works: &works, links: &args.links, model };
    let caps = q.caps();
    let device = format!("{} ({}, {} threads)", caps.device, caps.path, caps.threads);
    let of = format!("{}, 2^{} rows", statement.name(), args.air.log_rows);
    let facts = show::facts(of, device, measured.log_rows, log_more_rows, &model);
    if let Some(html) = html {
        html.finish(shown.page(&facts)?.to_html().as_bytes())?;
    }
    tell(&shown.text(&facts))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_a_name_and_a_rate() {
        assert_eq!(link("PCIe 5=55"), Ok(DeviceLink { name: "PCIe 5".to_owned(), rate: 55e9 }));
        assert_eq!(link("a=b=0.5"), Ok(DeviceLink { name: "a=b".to_owned(), rate: 0.5e9 }));
        for text in ["", "NVLink", "=4", " =4", "a=", "a=0", "a=-1", "a=inf", "a=NaN", "a=x"] {
            assert!(link(text).unwrap_err().contains("NVLink=450"), "{text}");
        }
        assert!(positive("0").is_err() && positive("1e400").is_err() && not_negative("-0.1").is_err());
        assert_eq!((positive("2.5"), not_negative("0")), (Ok(2.5), Ok(0.0)));
    }
}
