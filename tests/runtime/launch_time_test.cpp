// What is known of the times of launches, by injected samples.
#include "src/module/launch_time.hpp"

#include <gtest/gtest.h>

#include "src/executor/executor.hpp"
#include "src/module/module.hpp"

namespace ptx2spv::runtime {
namespace {

constexpr std::uint32_t kMost = 32;

/// Launches that take `took`; the result: how many of them were measured.
int launch(LaunchTime& time, int launches, float took, std::uint32_t most = kMost) {
  int measured = 0;
  for (int i = 0; i < launches; ++i) {
    if (!time.wants_sample(most)) continue;
    time.measuring();
    time.note(took);
    ++measured;
  }
  return measured;
}

TEST(LaunchTime, nothing_is_known_at_first) {
  LaunchTime time;
  EXPECT_LT(time.known(), 0);
  EXPECT_TRUE(time.wants_sample(kMost));
  // Not recorded: the next one is wanted.
  EXPECT_TRUE(time.wants_sample(kMost));
}

TEST(LaunchTime, a_slow_first_launch_is_forgotten_at_the_second) {
  LaunchTime time;
  launch(time, 1, 5000);
  EXPECT_EQ(time.known(), 5000);
  EXPECT_EQ(launch(time, 1, 6), 1);
  EXPECT_EQ(time.known(), 6);
  launch(time, 1000, 6);
  EXPECT_EQ(time.known(), 6);
}

// Others had the device between the two timestamps of one launch in three.
TEST(LaunchTime, slow_samples_among_others_change_nothing) {
  LaunchTime time;
  launch(time, 10, 6);
  for (int i = 0; i < 100; ++i) {
    time.note(i % 3 ? 6.0f : 90.0f);
    EXPECT_EQ(time.known(), 6) << i;
  }
}

TEST(LaunchTime, launches_that_become_longer_or_shorter_are_noticed) {
  LaunchTime time;
  launch(time, 1000, 6);
  launch(time, 64, 700);
  EXPECT_EQ(time.known(), 700);
  launch(time, 64, 6);
  EXPECT_EQ(time.known(), 6);
}

// Timestamps keep launches from running beside others, and cost time themselves: as many would stay
// for ever if a launch were measured because it is slow, and slow because it is measured.
TEST(LaunchTime, few_launches_are_measured_however_long_they_take) {
  for (const float took : {6.0f, 60.0f, 6000.0f}) {
    LaunchTime time;
    launch(time, 200, took, 8);
    EXPECT_EQ(launch(time, 800, took, 8), 100) << took;
    launch(time, 200, took);
    EXPECT_EQ(launch(time, 3200, took), 100) << took;
  }
}

TEST(LaunchTime, what_could_not_be_measured_for_long_is_overdue) {
  LaunchTime time;
  launch(time, 500, 6);
  time.measuring();
  int wanted = 0;
  for (int i = 1; i < 64; ++i) wanted += time.wants_sample(kMost);
  EXPECT_EQ(wanted, 32);
  EXPECT_FALSE(time.overdue());
  EXPECT_TRUE(time.wants_sample(kMost));
  EXPECT_TRUE(time.overdue());
  time.measuring();
  EXPECT_FALSE(time.overdue());
}

// Only launches that are long are made by a thread of their own, where the host runs them.
TEST(LaunchTime, a_launch_that_others_held_up_is_not_taken_for_a_long_kernel) {
  KernelState kernel;
  EXPECT_TRUE(may_be_long(kernel, 1));
  for (const float took : {9000.0f, 4.0f, 9000.0f, 4.0f, 4.0f, 9000.0f}) {
    kernel.tier.host_block_us.note(took);
    EXPECT_EQ(may_be_long(kernel, 1), kernel.tier.host_block_us.known() == 9000) << took;
  }
  EXPECT_FALSE(may_be_long(kernel, 4));
  EXPECT_TRUE(may_be_long(kernel, 400));
}

TEST(LaunchTime, bounds_lower_only) {
  LaunchTime time;
  time.note_at_most(900);
  EXPECT_EQ(time.known(), 900);
  time.note_at_most(2000);
  EXPECT_EQ(time.known(), 900);
  time.note_at_most(40);
  EXPECT_EQ(time.known(), 40);
  // What is found out late is no longer by that.
  time.note_at_most(50'000);
  EXPECT_EQ(time.known(), 40);
}

TEST(LaunchTime, grids_of_other_magnitudes_are_apart) {
  TierState tier;
  tier.time_of(1).note(6);
  EXPECT_EQ(tier.time_of(3).known(), 6);
  EXPECT_LT(tier.time_of(100'000).known(), 0);
}

}  // namespace
}  // namespace ptx2spv::runtime
