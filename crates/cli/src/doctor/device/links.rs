//! How the devices of this machine reach each other.

use std::{
    collections::BTreeSet,
    io::{self, Write},
};

use runtime::{Detour, Link, Route, Settings};
use serde::Serialize;

/// The links between all devices, or the reason why none are known.
///
/// Empty if there is no driver.
#[derive(Default, Serialize)]
pub(super) struct Links {
    reason: Option<String>,
    /// Times of the simulated driver mean nothing.
    simulated: bool,
    links: Vec<LinkFact>,
}

/// The way from one device to another.
#[derive(Serialize)]
struct LinkFact {
    from: u32,
    to: u32,
    /// `peer` or `host`.
    route: &'static str,
    /// Why bytes go through the host.
    reason: Option<String>,
    /// Whether the driver gives access; `None` if it does not say.
    access: Option<bool>,
    performance_rank: Option<u32>,
    native_atomics: Option<bool>,
    gigabytes_per_second: Option<f64>,
}

impl LinkFact {
    fn new(link: &Link) -> Self {
        let (route, reason) = match &link.route {
            Route::Device => ("device", None),
            Route::Peer => ("peer", None),
            Route::Host(detour) => ("host", Some(detour.to_string())),
        };
        Self {
            from: link.from,
            to: link.to,
            route,
            reason,
            access: link.performance_rank.map(|_| link.route != Route::Host(Detour::NoAccess)),
            performance_rank: link.performance_rank,
            native_atomics: link.native_atomics,
            gigabytes_per_second: link.bytes_per_second.map(|speed| speed / 1e9),
        }
    }

    /// What stands in the table of all links.
    fn cell(&self, simulated: bool) -> String {
        let speed = match self.gigabytes_per_second {
            Some(speed) => format!("{speed:.1} GB/s"),
            None if simulated => "simulated".to_owned(),
            None => "not measured".to_owned(),
        };
        let access = match (self.access, self.performance_rank) {
            (Some(true), Some(rank)) => format!("rank {rank}"),
            (Some(false), _) => "no access".to_owned(),
            _ => "access unknown".to_owned(),
        };
        format!("{}, {access}, {speed}", self.route)
    }
}

impl Links {
    /// The links between the devices of the driver of this process.
    pub(super) fn find(settings: &Settings) -> Self {
        let Ok(facts) = runtime::cuda_facts(settings) else { return Self::default() };
        let simulated = facts.simulated;
        match runtime::cuda_links(settings) {
            Ok(links) => Self { reason: None, simulated, links: links.iter().map(LinkFact::new).collect() },
            Err(reason) => Self { reason: Some(reason.to_string()), simulated, ..Self::default() },
        }
    }

    /// Draws the links: a row for each device that sends, a column for each that receives.
    ///
    /// Prints nothing for fewer than two devices.
    pub(super) fn print(&self, out: &mut impl Write) -> io::Result<()> {
        let devices: BTreeSet<u32> = self.links.iter().map(|link| link.from).collect();
        if let Some(reason) = &self.reason {
            writeln!(out, "\nlinks       {reason}")?;
        }
        if devices.is_empty() {
            return Ok(());
        }
        let cell = |from: u32, to: u32| {
            let link = self.links.iter().find(|link| (link.from, link.to) == (from, to));
            link.map_or_else(|| "-".to_owned(), |link| link.cell(self.simulated))
        };
        let width = self.links.iter().map(|link| link.cell(self.simulated).len()).max().unwrap_or(0);
        let mut row = |head: String, cells: &mut dyn Iterator<Item = String>| {
            let line = cells.fold(format!("{head:<12}"), |line, cell| format!("{line}{cell:<width$}  "));
            writeln!(out, "{}", line.trim_end())
        };
        row(String::new(), &mut core::iter::empty())?;
        row("links".to_owned(), &mut devices.iter().map(|to| format!("to {to}")))?;
        for &from in &devices {
            row(format!("  from {from}"), &mut devices.iter().map(|&to| cell(from, to)))?;
        }
        for LinkFact { from, to, reason, .. } in &self.links {
            if let Some(reason) = reason {
                writeln!(out, "  {from} to {to}    through the host: {reason}")?;
            }
        }
        Ok(())
    }
}
