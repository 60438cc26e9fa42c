//! Arguments that do not fit, with the texts of their errors.

use backend_api::DType;
use hybrid_accel::{
    AccelError, AcceleratorConfig, AcceleratorWeights, GpuAccelerator, GpuTensor, GruConfig, TrefoilCpu,
};
use nn_ops::{Feedback, NnError};

use crate::common::{OUTPUT, config, cpu, numbers, sim, sim_on, trainings, weights};

fn text<T>(result: Result<T, AccelError>) -> String {
    result.err().expect("a refusal").to_string()
}

#[test]
fn tensors_of_other_shapes_are_refused_by_name() {
    let accelerator = cpu(Feedback::State);
    let of =
        |shape: &[usize]| GpuTensor::from_slice(accelerator.queue(), &numbers(shape.iter().product()), shape).unwrap();
    assert_eq!(
        text(accelerator.encode_states(&[])),
        "`encode_states` expected the trainings of shape [1 or more], got [0]"
    );
    let expected = "`predict_batch` expected an encoded state of shape [12] or [rows, 12], got [2, 11]";
    assert_eq!(text(accelerator.predict_batch(&[of(&[OUTPUT]), of(&[2, 11])], 3)), expected);
    assert_eq!(text(accelerator.predict_batch(&[of(&[OUTPUT])], 0)), "steps must be 1 or more, got 0");
    let empty = text(accelerator.predict_batch(&[of(&[0, OUTPUT])], 1));
    assert_eq!(empty, "`predict_batch` expected the rows of all codes of shape [1 or more], got [0]");
    assert!(accelerator.predict_batch(&[], 3).unwrap().is_empty());
    let losses = text(accelerator.predict(&[of(&[2, OUTPUT])], &[1.0], 3));
    assert_eq!(losses, "`predict` expected the losses of shape [2], got [1]");

    let residuals = text(accelerator.compress_residuals(&of(&[3, 4, 5]), 2));
    assert_eq!(residuals, "`compress_residuals` expected the residuals of shape [m, n], got [3, 4, 5]");
    let rank = accelerator.compress_residuals(&of(&[3, 4]), 0).err();
    assert!(matches!(rank, Some(AccelError::Ops(NnError::Parameter { name: "rank", .. }))), "{rank:?}");
    let corrections = text(accelerator.apply_corrections(&of(&[3, 4]), &of(&[4, 3])));
    assert_eq!(corrections, "`apply_corrections` expected the corrections of shape [3, 4], got [4, 3]");
    let cycle = text(accelerator.cycle(&trainings(2), &of(&[2, 3, 5]), 3, 2));
    assert_eq!(cycle, "`cycle` expected the residuals of shape [2, 3, 12] or [6, 12], got [2, 3, 5]");
    let count = text(GpuTensor::from_slice(accelerator.queue(), &[0.0; 5], &[2, 3]));
    assert_eq!(count, "`tensor` expected a tensor of 6 elements, got 5");
}

#[test]
fn types_devices_and_values_that_do_not_fit_are_refused() {
    let (on_cpu, on_sim) = (cpu(Feedback::State), sim(Feedback::State));
    let tensor = GpuTensor::from_slice(on_cpu.queue(), &numbers(12), &[1, 12]).unwrap();
    let half = tensor.to_f16().unwrap();
    let elements = AccelError::Elements {
        call: "apply_corrections",
        tensor: "the corrections",
        expected: DType::F32,
        got: DType::F16,
    };
    assert_eq!(elements.to_string(), "`apply_corrections` expected the corrections of f32, got f16");
    assert_eq!(on_cpu.apply_corrections(&tensor, &half).err(), Some(elements));

    for refused in [
        on_sim.predict_batch(std::slice::from_ref(&tensor), 2).err(),
        on_sim.compress_residuals(&tensor, 1).err(),
        on_sim.apply_corrections(&tensor, &tensor).err(),
        on_sim.cycle(&trainings(1), &tensor, 1, 1).err(),
    ] {
        assert!(matches!(refused, Some(AccelError::OtherDevice { .. })), "{refused:?}");
    }
    // Another device, and the same device that is opened a second time, under the same name.
    let fork = on_sim.fork().unwrap();
    for (other, got) in [
        (sim_on(1, Feedback::State), "`Simulated device 1` (device 1)"),
        (sim(Feedback::State), "`Simulated device 0` (device 0), opened a second time"),
    ] {
        let tensor = GpuTensor::from_slice(other.queue(), &numbers(12), &[1, 12]).unwrap();
        for accelerator in [&on_sim, &fork] {
            let refused = text(accelerator.compress_residuals(&tensor, 1));
            let call = "`compress_residuals` expected the residuals on `Simulated device 0` (device 0)";
            assert_eq!(refused, format!("{call}, got one on {got}; copy it through the host"));
        }
    }
    let tensor_of_fork = GpuTensor::from_slice(fork.queue(), &numbers(12), &[1, 12]).unwrap();
    on_sim.compress_residuals(&tensor_of_fork, 1).unwrap();

    let large = GpuTensor::from_slice(on_cpu.queue(), &[1.0, 1e6, -1e6], &[3]).unwrap();
    let range = NnError::Range { op: "narrow", count: 2, first: 1 };
    assert_eq!(large.to_f16().err(), Some(AccelError::Ops(range)));
    let spoilt = GpuTensor::from_slice(on_cpu.queue(), &[1.0, f32::NAN, 1.0, 1.0], &[2, 2]).unwrap();
    let refused = on_cpu.compress_residuals(&spoilt, 1).err();
    assert!(matches!(refused, Some(AccelError::Ops(NnError::Numerical { .. }))), "{refused:?}");
}

#[test]
fn weights_of_other_sizes_are_refused() {
    let config = config(Feedback::State, DType::F32);
    let plain = weights(&config);
    let refused = |weights| text(GpuAccelerator::with_weights(TrefoilCpu::default(), config.clone(), &weights));
    let mut few = plain.clone();
    few.members.truncate(1);
    assert_eq!(refused(few), "`weights` expected the members of shape [2], got [1]");
    let gru = GruConfig { hidden_dim: 7, ..config.gru.clone() };
    let mut other = AcceleratorWeights::random(&AcceleratorConfig { gru, ..config.clone() }).unwrap();
    other.loss_head.clone_from(&plain.loss_head);
    assert_eq!(refused(other), "`weights` expected a member of shape [12, 20], got [12, 7]");
    let mut short = plain.clone();
    short.encoder.pop();
    assert_eq!(refused(short), "`tensor` expected a tensor of 768 elements, got 767");
    let none = AcceleratorConfig { members: 0, ..config.clone() };
    assert_eq!(text(GpuAccelerator::with_config(TrefoilCpu::default(), none)), "members must be in 1..=1024, got 0");
}
