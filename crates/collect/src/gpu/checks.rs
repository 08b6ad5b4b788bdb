//! What `doctor` says of GPUs.

use super::{Driver, GpuSource, in_container, open};
use crate::doctor::{Check, fine, limited, missing};
use crate::root::Root;

/// A line for each driver that answers; where none does, one that names the devices that are there all the same.
pub(crate) fn checks(root: &Root) -> Vec<Check> {
    let (drivers, why) = open(&GpuSource::Machine, root);
    let mut checks: Vec<Check> = drivers.iter().map(|driver| driver_line(driver.as_ref())).collect();
    if !drivers.is_empty() {
        return checks;
    }
    let devices = [("dev/nvidiactl", "NVIDIA"), ("dev/kfd", "AMD"), ("dev/dri/renderD128", "DRM")];
    let silent: Vec<&str> = devices.iter().filter(|(path, _)| root.path(path).exists()).map(|(_, name)| *name).collect();
    if !silent.is_empty() {
        let mend =
            "in a container, pass the driver's libraries in as well (--gpus all, NVIDIA_DRIVER_CAPABILITIES=compute,utility)";
        checks.push(limited("GPU", format!("{} devices are here, but {}", silent.join(" and "), why.join(", ")), mend));
    } else {
        let mend = "nothing to do where there is no GPU; in a container, have it and its driver's libraries passed in";
        checks.push(missing("GPU", format!("no driver: {}", why.join(", ")), mend));
    }
    checks
}

fn driver_line(driver: &dyn Driver) -> Check {
    let cards: Vec<String> = driver.cards().iter().map(|card| format!("{} {}", card.resource, card.name)).collect();
    let emulated = if driver.cards().iter().any(|card| card.emulated) { " (emulated: there are no such cards)" } else { "" };
    let text = format!("{}: {}{emulated}", driver.describe(), cards.join(", "));
    if driver.knows_our_pids() || !in_container() {
        fine("GPU", text)
    } else {
        let mend = "run lowtide on the host, or the container with --pid=host, to see what each process has";
        limited("GPU", format!("{text}; in a container a driver may hide processes, or give them the host's pids"), mend)
    }
}
