//! Who uses the driver of the process, and what they may ask it.

use std::sync::{Mutex, MutexGuard, PoisonError};

use cuda_loader::{AlreadyChosen, Table, Unavailable, available, nccl};

use super::{
    api,
    counters::{Counters, Report},
    faults::Rule,
    nccl as simulated_nccl,
    spec::Spec,
    spec_error::SpecError,
    state::{Driver, lock, queue::WaitGoal},
};
use crate::exec::Usage;

/// One simulation at a time.
static TURN: Mutex<()> = Mutex::new(());

/// Why the simulated driver is not the driver of this process.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InstallError {
    /// A specification is malformed.
    #[error(transparent)]
    Spec(#[from] SpecError),
    /// The process has another driver.
    #[error(transparent)]
    AlreadyChosen(#[from] AlreadyChosen),
    /// The process has another NCCL.
    #[error(transparent)]
    NcclAlreadyChosen(#[from] nccl::AlreadyChosen),
    /// The loader refuses the simulated driver: its release is too old.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
}

/// Installs the simulated driver and the simulated NCCL for this process.
///
/// `spec` describes the machine.
///
/// Called again, it replaces the machine: whatever the old one held is gone.
///
/// # Errors
/// [`InstallError::Spec`] if there is no such machine, [`InstallError::AlreadyChosen`] or
/// [`InstallError::NcclAlreadyChosen`] if the process has another driver or another NCCL.
pub fn install(spec: Spec) -> Result<(), InstallError> {
    install_changed(spec, |_| ())
}

/// Installs the simulated driver as [`install`], with `change` applied to its functions.
///
/// A driver that lacks functions is made so. Later installations in this process do not change the
/// functions again.
///
/// # Errors
/// As [`install`].
pub fn install_changed(spec: Spec, change: impl FnOnce(&mut Table)) -> Result<(), InstallError> {
    static INSTALLED: Mutex<bool> = Mutex::new(false);
    let mut installed = INSTALLED.lock().unwrap_or_else(PoisonError::into_inner);
    *lock() = Some(Driver::new(spec)?);
    if !*installed {
        let mut table = api::table();
        change(&mut table);
        cuda_loader::install(table)?;
        nccl::install(simulated_nccl::table())?;
        *installed = true;
    }
    // The loader has asked the driver for its version, so it is frozen in place now.
    Ok(available().map(drop)?)
}

/// Reports of the driver since it was installed, in order.
pub fn reports() -> Vec<Report> {
    with(|driver| driver.reports.clone())
}

/// Installs the machine that the text describes.
///
/// Other simulations wait until the value is dropped.
///
/// # Errors
/// As [`install`], and a malformed text.
pub fn simulate(spec: &str) -> Result<Simulation, InstallError> {
    let spec = spec.parse()?;
    let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    install(spec)?;
    Ok(Simulation { _turn: turn })
}

/// The right to the driver of the process.
#[derive(Debug)]
pub struct Simulation {
    _turn: MutexGuard<'static, ()>,
}

impl Simulation {
    /// What happened since the simulation began.
    pub fn counters(&self) -> Counters {
        with(|driver| driver.counters.clone())
    }

    /// Reports of the driver since the simulation began, in order.
    pub fn reports(&self) -> Vec<Report> {
        reports()
    }

    /// Adds a fault; its calls count from here on.
    pub fn inject(&self, fault: Rule) {
        with(|driver| driver.spec.faults.push(fault));
    }

    /// Removes every fault.
    pub fn clear_faults(&self) {
        with(|driver| driver.spec.faults.clear());
    }

    /// Memory in use on a device.
    pub fn usage(&self, device: u32) -> Usage {
        with(|driver| driver.memory.usage(device))
    }

    /// Whether work is enqueued that has not been done.
    pub fn is_busy(&self) -> bool {
        with(|driver| !driver.queue.is_reached(&WaitGoal::All))
    }
}

fn with<T: Default>(ask: impl FnOnce(&mut Driver) -> T) -> T {
    lock().as_mut().map(ask).unwrap_or_default()
}
