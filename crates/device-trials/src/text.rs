//! The modules of trial kernels, as PTX with their manifests.

/// A module of kernels for a device.
#[derive(Clone, Copy, Debug)]
pub struct Text {
    /// Name of the module, a prefix of its kernels' names.
    pub name: &'static str,
    /// The PTX.
    pub ptx: &'static str,
    /// Its manifest, in the JSON of the manifests that ship.
    pub manifest: &'static str,
}

macro_rules! text {
    ($name:literal, $file:literal) => {
        Text {
            name: $name,
            ptx: include_str!(concat!("../../../kernels-ptx/ptx/", $file, ".ptx")),
            manifest: include_str!(concat!("../../../kernels-ptx/ptx/", $file, ".json")),
        }
    };
}

/// The kernels of the random programs.
pub const PROGRAMS: Text = text!("differential", "differential/programs");

/// The canaries, built with all flags.
pub const GUARDED: Text = text!("canary", "canary/guarded");
