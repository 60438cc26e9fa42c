//! The settings of a dispatcher.

use runtime::{Choice, OpenError, Settings};

use crate::error::Result;

/// The device of a dispatcher and the permitted exceptions.
///
/// The default is the CPU without exceptions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// The device ([`Settings::nn_backend`]), its limits, and whether the CPU may take its place.
    ///
    /// A `gpu` that cannot be opened becomes the CPU unless [`Settings::nn_strict`] is set.
    pub settings: Settings,
    /// Whether an op that the device lacks memory or a feature for runs on the CPU.
    ///
    /// A backward pass whose forward pass ran on the device also needs `allow_mixed` for that, and
    /// so does a step of an optimizer whose moments are on the device.
    pub per_op_fallback: bool,
    /// Whether a backward pass may run on another device than its forward pass.
    pub allow_mixed: bool,
}

impl Selection {
    /// A device with default settings and without exceptions.
    ///
    /// ```
    /// use nn_dispatch::{BackendDispatcher, Selection};
    /// use runtime::Choice;
    ///
    /// let selection = Selection { per_op_fallback: true, ..Selection::new(Choice::Cpu) };
    /// let dispatcher = BackendDispatcher::with(selection)?;
    /// assert_eq!(dispatcher.status().backend.active, Choice::Cpu);
    /// # Ok::<(), nn_dispatch::DispatchError>(())
    /// ```
    #[must_use]
    pub fn new(device: Choice) -> Self {
        Self { settings: Settings { nn_backend: Some(device), ..Settings::default() }, ..Self::default() }
    }

    /// The selection of the process environment.
    ///
    /// `RSI_ML_BACKEND`, or else `TREFOIL_BACKEND`, names the device. `RSI_ML_BACKEND_STRICT=1`
    /// refuses the CPU in the place of `gpu`. `RSI_ML_ALLOW_MIXED=1` sets `allow_mixed`.
    ///
    /// # Errors
    /// [`DispatchError::Open`](crate::DispatchError::Open) for the first variable whose value
    /// cannot be used.
    pub fn from_env() -> Result<Self> {
        let settings = Settings::from_env().map_err(OpenError::from)?;
        let allow_mixed = settings.nn_allow_mixed;
        Ok(Self { settings, per_op_fallback: false, allow_mixed })
    }
}
