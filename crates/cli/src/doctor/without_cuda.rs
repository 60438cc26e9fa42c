//! Facts about CUDA in a build without it: none.

use std::io;

use anyhow::Result;
use backend_api::BackendError;
use runtime::{AnyQueue, Settings};
use serde::Serialize;

use crate::exit::UsageError;

#[derive(Serialize)]
pub(super) struct DeviceFacts {}

impl DeviceFacts {
    pub(super) fn find(_: &Settings, compile_on: Option<&AnyQueue>) -> Result<Self> {
        match compile_on {
            None => Ok(Self {}),
            Some(_) => {
                Err(UsageError("`--kernels` needs a device, and this program was built without CUDA".to_owned()).into())
            }
        }
    }

    pub(super) const fn wrong(&self) -> Option<String> {
        None
    }

    pub(super) fn print(&self, out: &mut impl io::Write) -> io::Result<()> {
        writeln!(out, "\ncuda        this program was built without it")
    }
}

pub(super) const fn free_bytes(_: &AnyQueue) -> Result<Option<u64>, BackendError> {
    Ok(None)
}
