//! Two parties in one process: exactness, traffic by formula, and every way that keys or a peer can be wrong.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

mod common;
mod devices;
mod faults;
mod folders;
mod function_folders;
mod functions;
mod model_files;
mod models;
mod reading;
mod runs;
mod strangers;
mod thief;
mod tls;
mod transformer;
