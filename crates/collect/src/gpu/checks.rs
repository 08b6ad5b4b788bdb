//! What `doctor` says of GPUs.

use std::time::Duration;

use super::worker::{About, Worker};
use super::{GpuSource, in_container};
use crate::doctor::{Check, fine, limited, missing};
use crate::root::Root;

/// A driver is waited for so long: one whose cards sleep takes seconds for each to open, and one that hangs never answers.
const PATIENCE: Duration = Duration::from_secs(10);

/// A line for each driver that answers; where none does, one that names the devices that are there all the same.
pub(crate) fn checks(root: &Root) -> Vec<Check> {
    within(PATIENCE, GpuSource::Machine, root)
}

/// The same by a driver that is waited for only so long.
fn within(patience: Duration, source: GpuSource, root: &Root) -> Vec<Check> {
    let mut worker = Worker::start(source, root.clone());
    let Some((drivers, why)) = worker.opened(patience) else { return vec![silent(patience, worker.opening())] };
    if !drivers.is_empty() {
        return drivers.iter().map(driver_line).collect();
    }
    let devices = [("dev/nvidiactl", "NVIDIA"), ("dev/kfd", "AMD"), ("dev/dri/renderD128", "DRM")];
    let silent: Vec<&str> = devices.iter().filter(|(path, _)| root.path(path).exists()).map(|(_, name)| *name).collect();
    if !silent.is_empty() {
        let mend =
            "in a container, pass the driver's libraries in as well (--gpus all, NVIDIA_DRIVER_CAPABILITIES=compute,utility)";
        vec![limited("GPU", format!("{} devices are here, but {}", silent.join(" and "), why.join(", ")), mend)]
    } else {
        let mend = "nothing to do where there is no GPU; in a container, have it and its driver's libraries passed in";
        vec![missing("GPU", format!("no driver: {}", why.join(", ")), mend)]
    }
}

fn silent(patience: Duration, driver: &str) -> Check {
    let text = format!("{driver} did not answer for {} s: it hangs, or wakes its cards up", patience.as_secs_f64());
    let mend = "ask again; where it still hangs, `dmesg` tells why (NVRM, Xid, amdgpu), and a run is watched without its GPUs";
    limited("GPU", text, mend)
}

fn driver_line(driver: &About) -> Check {
    let cards: Vec<String> = driver.cards.iter().map(|card| format!("{} {}", card.resource, card.name)).collect();
    let emulated = if driver.cards.iter().any(|card| card.emulated) { " (emulated: there are no such cards)" } else { "" };
    let text = format!("{}: {}{emulated}", driver.name, cards.join(", "));
    if driver.knows_our_pids || !in_container() {
        fine("GPU", text)
    } else {
        let mend = "run lowtide on the host, or the container with --pid=host, to see what each process has";
        limited("GPU", format!("{text}; in a container a driver may hide processes, or give them the host's pids"), mend)
    }
}

#[cfg(test)]
mod tests {
    use lowtide_testkit::{FakeGpus, FakeRoot};

    use super::*;
    use crate::doctor::CheckState;

    #[test]
    fn a_driver_that_hangs_is_a_line_and_one_that_is_slow_to_open_is_waited_for() {
        let (folder, card) = (FakeRoot::new(), "card 0 total=1000 name=Fake_H100");
        let root = Root::new(folder.path());
        let hangs = FakeGpus::new(&format!("opens 3600000\n{card}\n"));
        let told = within(Duration::from_millis(50), GpuSource::Emulated(hangs.file()), &root);
        assert_eq!((told.len(), told[0].state), (1, CheckState::Limited), "{told:?}");
        assert!(told[0].text.starts_with("the emulated driver did not answer for 0.05 s"), "{told:?}");
        let slow = FakeGpus::new(&format!("opens 100\n{card}\n"));
        let told = within(Duration::from_secs(60), GpuSource::Emulated(slow.file()), &root);
        assert_eq!((told.len(), told[0].state), (1, CheckState::Fine), "{told:?}");
        assert!(told[0].text.contains("gpu0 Fake H100"), "{told:?}");
    }
}
