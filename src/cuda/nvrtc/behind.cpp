// Stands at the link for the library behind nvrtc.cpp, by a name that audit.cpp answers.
