# What Debian's policy asks of a package beside the installed files, done to the staged files by
# cpack: compressed manual pages, changelog and copyright in their places, and one date for all
# files, so that two builds of a source are equal.
file(GLOB_RECURSE pages "${CPACK_TEMPORARY_INSTALL_DIRECTORY}/usr/share/man/*.1")
file(GLOB doc "${CPACK_TEMPORARY_INSTALL_DIRECTORY}/usr/share/doc/ptx2spv")
set(compressed ${pages})
if(doc)
  string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC) # of SOURCE_DATE_EPOCH, where it is set
  file(WRITE "${doc}/changelog"
       "ptx2spv (${CPACK_PACKAGE_VERSION}) unstable; urgency=medium\n\n"
       "  * CHANGELOG.md says what is new.\n\n -- ${CPACK_PACKAGE_CONTACT}  ${date}\n")
  list(APPEND compressed "${doc}/changelog")
  file(WRITE "${doc}/copyright"
       "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\n"
       "Upstream-Name: ptx2spv\n\nFiles: *\nCopyright: the ptx2spv developers\n"
       "License: Apache-2.0\n"
       " The text is in /usr/share/common-licenses/Apache-2.0.\n")
endif()
if(compressed)
  execute_process(COMMAND gzip -9nf ${compressed} COMMAND_ERROR_IS_FATAL ANY)
endif()
if(DEFINED ENV{SOURCE_DATE_EPOCH})
  execute_process(COMMAND find "${CPACK_TEMPORARY_INSTALL_DIRECTORY}" -exec
                          touch -hd "@$ENV{SOURCE_DATE_EPOCH}" {} +
                  COMMAND_ERROR_IS_FATAL ANY)
endif()
