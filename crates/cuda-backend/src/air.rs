//! The choice of how a device runs programs of AIRs.
//!
//! Either as code that its driver compiles, or step by step.

/// How a device runs programs of AIRs.
///
/// Both give the same words.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AirKernel {
    /// Programs compiled from PTX by the driver when they first run.
    ///
    /// Long programs are compiled in several [`parts`](crate::ProgramSource::parts). Programs that
    /// are too long for that, and those that the driver does not compile, are interpreted.
    #[default]
    Compiled,
    /// A kernel that ships reads the steps as it runs them.
    Interpreted,
}

impl AirKernel {
    /// Every choice.
    pub const ALL: [Self; 2] = [Self::Compiled, Self::Interpreted];

    /// The name used in settings and reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Compiled => "compiled",
            Self::Interpreted => "interpreted",
        }
    }

    /// The choice of that name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|choice| choice.name() == name)
    }
}
