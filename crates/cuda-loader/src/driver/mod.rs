//! The driver of the process: its library, its functions, and how it was chosen.

mod elf;
pub(crate) mod library;
pub(crate) mod missing;
pub(crate) mod state;
pub(crate) mod table;
pub(crate) mod unavailable;
pub(crate) mod version;
