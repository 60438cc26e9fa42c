//! The CUDA driver API over the executor, and NCCL over the driver.
//!
//! It simulates virtual devices, streams, events, graphs, pools, peers and faults.
//!
//! [`install`] puts it in place of the platform's driver for the life of the process. The functions
//! of the driver API carry no user data, so a process has one driver; tests take turns with it
//! through [`simulate`], which starts each one on a fresh machine.
//!
//! Functions of the API that are not simulated answer `NOT_SUPPORTED`; crate `cuda-loader` records
//! their names.

mod api;
mod capture;
mod compile;
mod counters;
mod done;
mod entry;
mod faults;
mod graph_launch;
mod handle;
mod isa;
mod limits;
mod nccl;
mod order;
mod simulation;
mod spec;
mod spec_error;
mod state;

pub use counters::{Counters, Leak, Report};
pub use faults::{CLASSES, Rule, class};
pub use simulation::{InstallError, Simulation, install, install_changed, reports, simulate};
pub use spec::{Link, Spec, StreamSchedule};
pub use spec_error::SpecError;
