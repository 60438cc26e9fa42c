//! Descriptions of simulated machines (`TREFOIL_SIM`).
//!
//! An accepted description is written and read again unchanged, and is simulated.

use std::{fmt::Write as _, sync::LazyLock};

use cuda_sim::{
    driver::{Link, Simulation, Spec, StreamSchedule, simulate},
    exec::{Checks, Schedule},
};

/// Loads the driver of a simulated machine without faults.
///
/// The loader looks for a driver only once in the life of the process.
static INSTALLED: LazyLock<()> = LazyLock::new(|| drop(simulate("").expect("the default machine")));

/// Checks one input.
pub fn check_input(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let spec = match text.parse::<Spec>() {
        Ok(spec) => spec,
        Err(error) => {
            // The rejected item is an item of the text, or the pair of capability and release.
            assert!(text.contains(&error.item) || error.item.contains("driver="), "{error}");
            return;
        }
    };
    let written = written(&spec, text);
    assert_eq!(written.parse().as_ref(), Ok(&spec), "{written}");
    for a in 0..spec.devices {
        for b in 0..spec.devices {
            assert_eq!(spec.link(a, b), spec.link(b, a), "devices {a} and {b}");
        }
    }
    LazyLock::force(&INSTALLED);
    let simulation: Simulation = simulate(text).expect("an accepted machine is simulated");
    assert!(!simulation.is_busy() && simulation.reports().is_empty());
    let used = (0..spec.devices).map(|device| simulation.usage(device).used).sum::<u64>();
    assert_eq!(used, 0, "a fresh machine uses no memory");
}

/// The text of a machine. Faults are opaque, so they are copied from its description.
fn written(spec: &Spec, text: &str) -> String {
    let order = match spec.order {
        Schedule::Natural => "natural",
        Schedule::Reverse => "reverse",
        Schedule::Seeded(_) => "seeded",
    };
    let schedule = match spec.schedule {
        StreamSchedule::Eager => "eager",
        StreamSchedule::Lazy => "lazy",
        StreamSchedule::Random => "random",
    };
    let checks = if spec.checks == Checks::none() { "none" } else { "sanitize" };
    let ((major, minor), release) = (spec.capability, spec.driver_version);
    let mut out = format!(
        "order={order};schedule={schedule};checks={checks};cc={major}.{minor};driver={}.{};devices={};sms={};mem={};\
         seed={};watchdog={};threads={}",
        release / 1000,
        release % 1000 / 10,
        spec.devices,
        spec.multiprocessors,
        spec.memory,
        spec.seed,
        spec.watchdog,
        spec.threads,
    );
    if spec.default_link == Link::None {
        out += ";links=";
        for (&(a, b), link) in &spec.links {
            let kind = match link {
                Link::NvLink => "nvlink",
                Link::Pcie => "pcie",
                Link::Dropped => "dropped",
                Link::None => "none",
            };
            write!(out, "{a}-{b}:{kind},").expect("texts take more");
        }
    }
    if spec.copies_alone {
        out += ";peer=copies";
    }
    for fault in text.split(';').filter(|item| item.contains('@')) {
        write!(out, ";{fault}").expect("texts take more");
    }
    out
}
