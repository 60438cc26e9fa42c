//! Which PTX a CUDA release compiles for which device.

/// Names of the releases that can be simulated.
pub(super) const RELEASES: &str = "11.0 to 11.8, 12.0 to 12.9 or 13.0 to 13.5";

/// A version of the PTX language, major and minor.
pub(super) type Version = (u32, u32);

/// The newest PTX that a CUDA release compiles, by the driver's number of the release.
///
/// `None` if there is no such release.
pub(super) fn newest(release: i32) -> Option<Version> {
    let (major, minor) = (release / 1000, u32::try_from(release % 1000 / 10).ok()?);
    match (major, minor) {
        (11, 0..=8) => Some((7, minor)),
        (12, 0..=5) => Some((8, minor)),
        (12, 6..=9) => Some((8, minor - 1)),
        (13, 0..=5) => Some((9, minor)),
        _ => None,
    }
}

/// The device that a text is made for.
#[derive(Clone, Copy, Debug)]
pub(super) struct PtxTarget {
    number: u32,
    portability: Portability,
    /// The oldest PTX that has it.
    pub(super) since: Version,
}

/// The devices that run code compiled for a target.
#[derive(Clone, Copy, Debug)]
enum Portability {
    /// Its own capability and all newer ones.
    Plain,
    /// Its own capability and newer ones with the same major number.
    Family,
    /// Only its own capability.
    Exact,
}

impl PtxTarget {
    /// The target of a name such as `sm_90a`.
    pub(super) fn named(name: &str) -> Option<Self> {
        let name = ptx::typing::architecture(name)?;
        let since = ptx::typing::first_version(name)?;
        let portability = match name.as_bytes().last() {
            Some(b'a') => Portability::Exact,
            Some(b'f') => Portability::Family,
            _ => Portability::Plain,
        };
        Some(Self { number: name.trim_end_matches(['a', 'f']).parse().ok()?, portability, since })
    }

    /// Whether a device of this capability runs it.
    pub(super) fn runs_on(&self, (major, minor): (u32, u32)) -> bool {
        let own = major * 10 + minor;
        match self.portability {
            Portability::Plain => self.number <= own,
            Portability::Family => self.number <= own && self.number / 10 == major,
            Portability::Exact => self.number == own,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_compile_the_ptx_of_their_notes() {
        for (release, ptx) in [
            (11_000, Some((7, 0))),
            (11_080, Some((7, 8))),
            (12_040, Some((8, 4))),
            (12_050, Some((8, 5))),
            (12_060, Some((8, 5))),
            (12_090, Some((8, 8))),
            (13_000, Some((9, 0))),
            (13_050, Some((9, 5))),
            (10_020, None),
            (12_100, None),
            (14_000, None),
            (-1, None),
        ] {
            assert_eq!(newest(release), ptx, "{release}");
        }
    }

    #[test]
    fn targets_run_on_the_devices_of_their_kind() {
        let runs = |name: &str, capability| PtxTarget::named(name).unwrap().runs_on(capability);
        assert!(runs("sm_80", (8, 0)) && runs("sm_80", (12, 0)) && !runs("sm_86", (8, 0)));
        assert!(runs("sm_30", (8, 0)) && runs("compute_80", (8, 6)) && !runs("compute_86", (8, 0)));
        assert!(runs("sm_90a", (9, 0)) && !runs("sm_90a", (10, 0)));
        assert!(runs("sm_100f", (10, 3)) && !runs("sm_100f", (12, 0)) && !runs("sm_103f", (10, 0)));
        for unknown in ["sm_81", "sm_", "sm_80b", "sm_20", "compute_", "80", "sm_8", "sm_99999999999"] {
            assert!(PtxTarget::named(unknown).is_none(), "{unknown}");
        }
    }
}
