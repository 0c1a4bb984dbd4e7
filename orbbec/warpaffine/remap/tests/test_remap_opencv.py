"""remap compared with cv::remap."""

import pytest

warps = pytest.importorskip("tests.support.peers.warps", reason="needs cv2")


@pytest.mark.parametrize(
    "cell",
    warps.promised_cells("remap"),
    ids=lambda cell: f"{cell.dtype}-{cell.interpolation}-{cell.border}",
)
def test_remap_matches_opencv(device, cell):
    warps.assert_cell_as_opencv(device, cell)


@pytest.mark.parametrize("interpolation", ["nearest", "linear", "cubic", "lanczos4"])
@pytest.mark.parametrize("channels", [2, 5, 7])
def test_remap_matches_opencv_plane_by_plane_for_any_number_of_channels(device, channels, interpolation):
    warps.assert_planes_as_opencv(device, "remap", channels, interpolation)


def test_remap_matches_opencv_on_a_photograph_of_full_size(device):
    warps.assert_photograph_as_opencv(device, "remap")
