//! A process without NCCL: the reason is named, and the choice is frozen.

use cuda_loader::{
    Source,
    nccl::{Table, Unavailable, available, install, open},
};
use test_process::alone;

#[test]
fn a_library_that_is_not_there_is_named_as_the_reason_from_then_on() {
    alone(|| {
        let reason = open(&Source::Path("/nowhere/libnccl.so.2".into())).unwrap_err();
        let Unavailable::Library { path, .. } = &reason else { panic!("{reason}") };
        assert_eq!(path.to_str(), Some("/nowhere/libnccl.so.2"));
        assert!(reason.to_string().contains("cannot be loaded as NCCL"), "{reason}");
        assert_eq!(available().unwrap_err(), reason);
        assert_eq!(open(&Source::None).unwrap_err(), reason);
        assert!(install(Table::default()).is_err());
    });
}
