//! What a program outside the repository can open, without the feature `cuda` and with it.

use trefoil::{Choice, Domain, OpenError, Settings, Unavailable};

fn open(choice: Choice) -> Result<Choice, OpenError> {
    trefoil::open_with(&Settings::default(), Some(Domain::Pfss), Some(choice)).map(|(_, status)| status.active)
}

#[test]
fn the_processor_is_always_there() {
    assert_eq!(open(Choice::Cpu).unwrap(), Choice::Cpu);
}

#[cfg(not(feature = "cuda"))]
#[test]
fn what_was_not_built_is_refused_by_name_and_auto_says_why() {
    for choice in [Choice::Gpu, Choice::Sim] {
        let refused = open(choice).unwrap_err();
        assert!(matches!(refused, OpenError::Unavailable { reason: Unavailable::NotBuilt, .. }), "{refused}");
        assert!(refused.to_string().contains("feature `cuda` of crate `runtime`"), "{refused}");
    }
    let (_, status) = trefoil::open_with(&Settings::default(), None, Some(Choice::Auto)).unwrap();
    assert_eq!((status.active, status.fallback), (Choice::Cpu, Some(Unavailable::NotBuilt)));
}

#[cfg(feature = "cuda")]
#[test]
fn the_shipped_kernels_run_on_the_simulated_driver() {
    assert_eq!(open(Choice::Sim).unwrap(), Choice::Sim);
    let refused = open(Choice::Gpu).unwrap_err();
    assert!(matches!(refused, OpenError::Unavailable { reason: Unavailable::OnlySimulated, .. }), "{refused}");
}
